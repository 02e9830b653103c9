"""`segue run`: agents started, watched and started again until the checks prove the work."""
