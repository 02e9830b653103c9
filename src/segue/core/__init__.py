"""The pure part: types, decisions and folds. No clock, no input, no output."""
