"""Memories: remembering, recalling, voting and curating."""
