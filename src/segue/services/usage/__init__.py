"""What agents used: the usage of all runs, the list of prices, and reports."""
