"""The TOML format: axes, conditions, defaults that make a case complete, and filters."""
