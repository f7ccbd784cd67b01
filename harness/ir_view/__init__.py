"""Showing the IR of every stage of a build: behind `harness ir`."""
