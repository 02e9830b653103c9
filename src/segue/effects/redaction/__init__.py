"""Masking of secrets in every text before it is stored or shown; ``redact.py`` is the only entry point."""

RULES_VERSION = 2
"""Raise it with every change of what is masked: what other rules masked is then masked again when shown."""
