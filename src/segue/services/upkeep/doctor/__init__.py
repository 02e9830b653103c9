"""`segue doctor`: is all well, and if not, what to do. Nothing here changes anything."""
