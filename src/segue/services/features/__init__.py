"""Features of a session: declaring them, running their checks, and keeping the evidence."""
