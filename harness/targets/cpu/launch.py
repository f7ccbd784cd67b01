"""How the kernels of an artifact are called: kept in `artifact.json`, read by the executable."""

import math
from typing import Any

from mlir import ir
from mlir.dialects import func
from pydantic import BaseModel, ConfigDict

from harness.dtypes import itemsize
from harness.payloads.arguments import BUFFER, FREE_LAYOUT


class Buffer(BaseModel):
    """A tensor argument of a kernel."""

    model_config = ConfigDict(frozen=True)

    name: str
    """`query`, `key`, `value`, `output`, or the name of a workspace."""
    shape: tuple[int, ...]
    dtype: str
    is_workspace: bool
    """Whether it is memory between kernels, which the executable allocates."""


class Kernel(BaseModel):
    """A kernel function: `name(buffers …, first, end, scratch)` with bare pointers."""

    model_config = ConfigDict(frozen=True)

    name: str
    buffers: tuple[Buffer, ...]
    points: int
    """Size of the grid."""
    scratch_bytes: int
    """Scratch memory of each thread."""


class Launch(BaseModel):
    """The kernels in calling order."""

    model_config = ConfigDict(frozen=True)

    kernels: tuple[Kernel, ...]
    threads: int

    def workspace_bytes(self) -> int:
        """Return the memory that a call needs besides inputs and output."""
        shared = {
            buffer.name: buffer for kernel in self.kernels for buffer in kernel.buffers if buffer.is_workspace
        }
        between_kernels = sum(math.prod(b.shape) * itemsize(b.dtype) for b in shared.values())
        return between_kernels + self.threads * max(kernel.scratch_bytes for kernel in self.kernels)

    def as_json(self) -> dict[str, Any]:
        """Return plain values for the artifact."""
        return self.model_dump(mode="json")


def describe_kernels(
    module: ir.Module, points: dict[str, int], scratch: dict[str, int]
) -> tuple[Kernel, ...]:
    """Read the kernels' buffers off their bufferized functions."""
    kernels = []
    for function in module.body.operations:
        if isinstance(function, func.FuncOp):
            name = ir.StringAttr(function.name).value
            buffers = [
                _buffer(buffer_type, ir.DictAttr(attributes))
                for buffer_type, attributes in zip(function.type.inputs, function.arg_attrs, strict=True)
                if BUFFER in ir.DictAttr(attributes)
            ]
            kernels.append(
                Kernel(name=name, buffers=tuple(buffers), points=points[name], scratch_bytes=scratch[name])
            )
    return tuple(kernels)


def _buffer(buffer_type: ir.MemRefType, attributes: ir.DictAttr) -> Buffer:
    return Buffer(
        name=ir.StringAttr(attributes[BUFFER]).value,
        shape=tuple(buffer_type.shape),
        dtype=str(buffer_type.element_type),
        is_workspace=FREE_LAYOUT in attributes,
    )
