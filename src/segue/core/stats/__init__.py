"""How well Segue does in a project: recoveries, briefs, handovers, memories and habits, over time."""
