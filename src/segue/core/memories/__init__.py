"""Memories: what one is, who may read it, how a search ranks them, how they are curated."""
