"""Where streams are kept. ``base`` holds the ports; each back end passes the same suite."""
