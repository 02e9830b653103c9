"""Habits of a project: learnt from its runs and commits in a command, kept as a small row, told in briefs."""
