"""The executor `opencl`: the SPIR-V itself, compiled for this machine's processor by Intel's OpenCL runtime.

What sub-groups of Intel's GPUs have beyond OpenCL is modelled in OpenCL C (`models/`), written after the
extensions' texts and without regard to the emulator's models: the two executors check each other.
"""

DISTRIBUTIONS = ("intel-opencl-rt", "intel-cmplr-lib-rt")
"""The packages that the runtime comes in.  They hold libraries, and nothing to import."""
INSTALL = "attention-harness[intel]"
