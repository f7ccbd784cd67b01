"""Bugs planted into correct kernels, one at a time, to prove that the emulator notices each of them."""
