"""How the kernels of an artifact for a GPU are launched: kept in `artifact.json`, read by executables."""

from typing import Any

from pydantic import BaseModel, ConfigDict

from harness.targets.lowering.buffers import Buffer

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


class GpuLaunch(BaseModel):
    """The kernels in calling order."""

    model_config = ConfigDict(frozen=True)

    chip: str
    kernels: tuple[GpuKernel, ...]

    @property
    def buffers(self) -> dict[str, Buffer]:
        """All buffers by name."""
        return {buffer.name: buffer for kernel in self.kernels for buffer in kernel.buffers}

    @property
    def workspace_bytes(self) -> int:
        """Memory that a call needs besides inputs and output."""
        return sum(buffer.bytes for buffer in self.buffers.values() if buffer.is_workspace)

    def as_json(self) -> dict[str, Any]:
        """Return plain values for the artifact."""
        return self.model_dump(mode="json")
