"""Executes device code on the CPU: retargeting, models of device intrinsics, a runtime with checks."""

ARTIFACT_FOLDER = "emulator"
"""Subfolder of an artifact with its device code as the emulator runs it."""
