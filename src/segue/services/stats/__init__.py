"""How well Segue does: measured when runs are learnt from, kept over time, reported by month."""
