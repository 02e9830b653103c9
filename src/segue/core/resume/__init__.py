"""Resuming work: the scene as it was left, what has changed since, and a restoration within a token
budget."""
