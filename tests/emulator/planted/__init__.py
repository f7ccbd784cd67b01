"""Bugs planted into kernels, to prove that the emulator notices them."""
