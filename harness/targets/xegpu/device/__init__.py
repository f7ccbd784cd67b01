"""Executors that run SPIR-V by OpenCL, called through ctypes: `device` on one of Intel's GPUs.

Nothing in here needs a compiler, MLIR or packages of Intel's: OpenCL's loader (`libOpenCL.so.1`), the driver
that it finds and NumPy are enough.
"""

SPIRV_FILE = "kernels.spv"
"""The file of an artifact that holds its module."""
