"""Stub drivers: stand-ins for the libraries of CUDA, HIP and OpenCL that run kernels on the emulator.

A program that knows nothing of the emulator, IREE's runtime, loads modules and launches kernels through them.
"""
