"""The API of Aegis Memory on ours: its unmodified SDK works."""
