"""Checkpoints of graphs: how the bytes of a state are kept, so that only what changed is stored."""
