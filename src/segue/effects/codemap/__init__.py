"""Reading code: which files of a project count, and what a parser finds in them."""
