"""The executor `device` of NVIDIA GPUs: the CUDA driver API through NVIDIA's own Python bindings.

Nothing in here needs a compiler, MLIR or CUDA's toolkit: the driver, its bindings and NumPy are enough.
"""

PACKAGES = ("cuda.bindings",)
INSTALL = "attention-harness[device]"
PTX_FILE = "kernels.ptx"
CUBIN_FILE = "kernels.cubin"
"""Files of an artifact that hold its code."""
