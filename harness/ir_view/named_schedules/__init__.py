"""The known tiled forms of attention, each a named schedule: what is tiled how, on a small problem."""
