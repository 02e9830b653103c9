"""What agents used: responses that are counted once, prices, and sums."""
