"""Sessions, loaded and committed: the only writers of session streams. Nothing here knows a working tree."""
