"""Habits of a project: what its runs and its commits did again and again, counted, without a model."""
