"""What a model adds to a brief, and what it costs."""
