"""Masking of secrets in every text before it is stored or shown; ``redact.py`` is the only entry point."""
