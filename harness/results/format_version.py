"""The version of a results folder, which every reader compares with its own."""

FORMAT_VERSION = 2
"""Raised when a column changes its meaning or a file its place."""
