"""The ledger: what was said in a piece of work and still holds, kept in the words in which it was said.

``sayings.py`` is what one run heard, ``keep.py`` decides what of it is kept, ``fold.py`` folds what is kept
into the entries of a session, ``standing.py`` tells what holds now.
"""
