"""Memories, done: remember, recall, vote, curate."""
