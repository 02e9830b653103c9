"""What touches the world, one thing a module, handed all that it needs."""
