"""Embedders: what makes vectors of texts, so that memories can be compared by similarity."""
