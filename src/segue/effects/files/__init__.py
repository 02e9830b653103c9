"""Files of ours: atomic writes, the archive of transcripts, outputs of checks, the spool and the log."""
