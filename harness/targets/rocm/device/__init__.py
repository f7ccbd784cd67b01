"""The executor `device` of AMD GPUs: the HIP runtime, called through ctypes.

Nothing in here needs a compiler, MLIR or packages of AMD's: the runtime library that comes with the driver
and NumPy are enough.  With AMD's management library for Python (`amdsmi`), clocks are watched as well.
"""
