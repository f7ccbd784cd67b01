"""How the kernels of an artifact for a GPU are launched: kept in `artifact.json`, read by executables."""

from pydantic import BaseModel, ConfigDict

from harness.targets.lowering.buffers import Buffer, KernelPlan

POISON = 0xFF
"""Every byte of memory that no kernel has written: NaN in all floating-point types."""


class GpuKernel(BaseModel):
    """A kernel function that takes pointers to its buffers."""

    model_config = ConfigDict(frozen=True)

    name: str
    buffers: tuple[Buffer, ...]
    grid: int
    """Workgroups, along x."""
    threads: int
    """Threads of a workgroup, along x."""
    shared_bytes: int
    """Dynamic shared memory."""
    null_arguments: int = 0
    """Pointers behind the buffers that the kernel declares and does not use."""


class GpuLaunch(KernelPlan):
    """The kernels for a chip."""

    chip: str
    kernels: tuple[GpuKernel, ...]
