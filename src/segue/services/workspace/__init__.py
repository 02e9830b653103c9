"""Where work happens: data folder, store, working tree, settings, and a server that cannot be reached."""
