"""Pure: no clock, no files, no processes, nothing of ours but errors.

Folders are capabilities, in this order, and each imports only those before it: base, journal, features,
sessions, memories, runs, brief, resume, models, supervision, handover, server.
"""
