"""Rows, journals, manifests and the folder of a run."""
