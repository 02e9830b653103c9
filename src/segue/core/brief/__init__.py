"""The brief: the facts about the work, and the texts that are composed from them within a number of bytes.

Gathering the facts belongs to ``services/brief/``.
"""
