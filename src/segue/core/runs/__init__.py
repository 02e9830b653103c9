"""Runs: steps observed in transcripts, the digest that they fold into, and what sentences and commands mean.

Reading a transcript is ``agents/``; finding and storing runs is ``services/runs/``.
"""
