"""Features, done: declaring them, running their checks, keeping the evidence."""
