"""IREE as a baseline: code for processors and GPUs, called through its own runtime."""
