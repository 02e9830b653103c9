"""Search over everything that agents and people did on this machine."""
