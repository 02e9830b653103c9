"""Lessons: what failed in a run and what mended it, and how a failure is known again."""
