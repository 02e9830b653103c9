"""Passing a session on: offers to agents, bundles for other machines, export and import."""
