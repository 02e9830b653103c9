"""How much of what a run touches next the map names, beside aider's, and what the map costs."""
