"""Building blocks that know nothing about sessions: frozen types, text cleaning, canonical JSON and the like.

Nothing here imports another folder of core.
"""
