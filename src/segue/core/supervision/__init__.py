"""What a supervisor does next, decided from values alone. No sequence of decisions goes on for ever."""
