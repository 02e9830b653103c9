"""Leaving work and coming back to it: prepare, bootstrap, since, restore, interruptions, emergencies."""
