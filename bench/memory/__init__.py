"""Memories, measured: is what was said found again (LoCoMo, coding paraphrases), how fast, how large."""
