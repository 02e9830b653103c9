"""What every service is handed: data folder, store, working tree, settings, and the offline queue."""
