"""Conversations that programs keep in the store: their items (``log.py``), and the transcripts that make runs
of them (``transcript.py``)."""
