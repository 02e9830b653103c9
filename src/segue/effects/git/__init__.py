"""Git and the working tree: reading what is there, comparing it with earlier, publishing commits."""
