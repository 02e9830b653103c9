"""Memories: what they are, who may read them, how a search ranks them, and how they are curated."""
