"""Pure logic: nothing here reads a clock, touches a file or starts a process; callers pass in what is needed.

Of the rest of the package only ``segue.errors`` may be imported. Folders are capabilities, in this order, and
each imports only those before it: base, journal, features, sessions, memories, runs, brief, resume, models,
supervision, handover, server.
"""
