"""Lessons: what failed in a run, what was changed, and that it passed then; and how a failure is known again."""
