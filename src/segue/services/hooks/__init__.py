"""Hooks: what `segue hook` does, and what `segue init` writes into the files of agents."""
