"""Files that are whole or not there: atomic writes, growing files, the archive, the spool, the log."""
