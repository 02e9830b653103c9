"""What a server decides by itself: keys, roles and rates."""
