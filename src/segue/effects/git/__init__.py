"""Git and the working tree: what is there, what changed, what is published."""
