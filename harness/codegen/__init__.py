"""Everything about IR that knows no variant and no target."""
