"""Processes: which one is it, starting agents, running checks, calling webhooks."""
