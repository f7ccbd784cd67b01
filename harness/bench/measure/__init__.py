"""Times: rounds in which candidates take turns, and the statistics of them."""
