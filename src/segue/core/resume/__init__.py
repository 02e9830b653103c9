"""Coming back: the scene as it was left, what changed since, and a restoration within a token budget."""
