"""The command line. ``main.py`` finds the command in ``table.py`` and runs ``commands/<command>.py``."""
