"""What every service is handed: data folder, store, working tree, settings, and the queue for a server that
cannot be reached."""
