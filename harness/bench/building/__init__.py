"""Content keys, builds in worker processes, requests for many cases at once."""
