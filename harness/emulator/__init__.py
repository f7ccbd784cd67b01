"""Executes device code on the CPU: retargeting, models of device intrinsics, a runtime with checks."""
