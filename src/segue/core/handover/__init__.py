"""Handovers: their events, the texts of the Markdown layers, and how useful a brief was to a run."""
