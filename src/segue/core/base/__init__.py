"""Values and texts that know nothing of sessions: frozen types, cleaning, canonical JSON, token estimates.

Nothing here may import another folder of core.
"""
