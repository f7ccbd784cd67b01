"""Programs and libraries of others: found, run with a time limit, asked for their versions."""
