"""Programs that make what Segue ships; they are not part of it."""
