"""Everything that touches the world: files, git, processes, models. Modules get what they need."""
