"""A module for each path: what it takes, which service it calls, what it answers."""
