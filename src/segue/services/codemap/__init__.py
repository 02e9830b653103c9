"""The map of a project's code, kept up with its files, and what it is asked for."""
