"""The brief: which facts are known, which of them are told, in which words, within how many bytes.

Where the facts come from is ``services/brief/``.
"""
