"""How much of what an agent did next was in the brief that it would have been given: `make bench-resume`."""
