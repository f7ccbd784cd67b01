"""High-dimensional layouts: where the elements of a value lie among warps, lanes and registers."""
