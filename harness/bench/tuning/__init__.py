"""Tuning: searches for the parameters with which a variant is fastest on a problem."""
