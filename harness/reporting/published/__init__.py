"""Throughput that others published, to be seen beside what is measured and never mixed with it."""
