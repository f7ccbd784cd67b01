"""Worker processes, and what is said between them and the harness."""
