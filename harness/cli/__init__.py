"""The command line: commands, options, and what `harness list` and `harness doctor` print.  No logic."""
