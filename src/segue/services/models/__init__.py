"""Asking a model, if one is configured, and keeping the books of what that costs."""
