"""Runs: the steps observed in transcripts, their digest, and the analysis of sentences and commands in them.

Reading transcripts belongs to ``agents/``, finding and storing runs to ``services/runs/``.
"""
