"""What a supervisor does next, decided from values: no way through here goes on for ever."""
