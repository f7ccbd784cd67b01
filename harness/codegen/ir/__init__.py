"""Walking over MLIR and building it, for every room that does."""
