"""Everything that touches the world: files, git, processes, models. Each module gets what it needs as
arguments."""
