"""Threads of graphs as sessions: their checkpoints in the store, with every namespace and every write."""
