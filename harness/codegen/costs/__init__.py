"""Counting what kernels execute, from their IR; see docs/costs.md."""
