"""Leaving and coming back: prepare, bootstrap, since, restore, interruptions, autosave, emergency files."""
