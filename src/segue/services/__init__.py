"""What users do. Folders are capabilities with the names that ``core/`` has.

They come in this order, and each imports only those before it: sessions, workspace, features, memories, runs,
brief, resume, models, handoff, hooks, supervision, upkeep, server.
"""
