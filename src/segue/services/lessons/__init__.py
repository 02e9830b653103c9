"""Lessons: kept from runs as memories, and brought up when the same failure shows again."""
