"""Processes: identifying them, starting agents, running checks, calling webhooks."""
