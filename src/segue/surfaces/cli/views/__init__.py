"""How sessions, timelines and changes look on a terminal."""
