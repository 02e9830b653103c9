"""Secrets out of every text before it is stored or shown. ``redact.py`` is the only door."""
