"""The use cases. Each folder is a capability, named as its counterpart in ``core/``.

Their order is: sessions, workspace, features, memories, runs, brief, resume, models, handoff, hooks,
supervision, upkeep, server. A folder imports only from those before it.
"""
