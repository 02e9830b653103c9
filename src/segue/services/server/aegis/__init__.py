"""What clients of Aegis Memory mean, in our terms."""
