"""The reference store: everything in dictionaries, gone with the process."""
