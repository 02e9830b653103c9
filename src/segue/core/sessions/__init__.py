"""Sessions: their state, the commands that change it, the fold of events into it, and views of it.

Commands are decided here, but carried out in ``services/sessions/``.
"""
