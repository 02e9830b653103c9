"""How events are stored in the journal: envelope, hash chain, and large values split into pieces.

What an event means to a session is decided in ``sessions/``, not here.
"""
