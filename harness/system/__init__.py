"""Processes, files, the machine and its programs; knows nothing of attention."""
