"""Search over everything that agents and people did: what is searched, and how a question is understood."""
