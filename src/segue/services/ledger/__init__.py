"""The ledger of a piece of work: as it is kept, with what was said since, and how people correct it."""
