"""PyTorch as a baseline."""
