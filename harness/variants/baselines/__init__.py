"""Baselines of the harness; see docs/architecture.md."""
