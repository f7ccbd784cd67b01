"""Payloads of the harness; see docs/architecture.md."""
