"""Events as they stand in the journal: envelope, hashes, large values cut into pieces.

What an event means to a session is in ``sessions/``; what is stored is here.
"""
