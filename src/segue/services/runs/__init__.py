"""Runs of agents: finding and reading their transcripts, choosing one, and keeping what they say (`segue
sync`)."""
