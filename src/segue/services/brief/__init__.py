"""Briefs: gathering their facts, rendering them with ``core/brief/``, and keeping what runs were given."""
