"""`segue recover`: the ladder, and a module for each source that it reads."""
