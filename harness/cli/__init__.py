"""The command line: commands, options, and what `list`, `support` and `doctor` print.  No logic."""
