"""This machine: its processor, cores and GPUs."""
