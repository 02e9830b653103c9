"""Runs, done: finding them, reading them, choosing one, keeping them.

``segue sync`` is ``sync.py``.
"""
