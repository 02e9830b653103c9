"""Asking a model, if one is configured, and keeping a ledger of what that costs."""
