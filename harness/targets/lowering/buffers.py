"""The buffers of kernels: what they are called, and the arrays that callers give for them."""

import functools
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from harness.problem.dtypes import buffer_dtype, itemsize
from harness.problem.outputs import OUTPUTS
from harness.system.errors import InputError

if TYPE_CHECKING:
    from mlir import ir

ARGUMENT_NAMES = {"query": "q", "key": "k", "value": "v"}
"""What a caller knows a buffer by, where that is another name."""


class Buffer(BaseModel):
    """A tensor argument of a kernel."""

    model_config = ConfigDict(frozen=True)

    name: str
    """`query`, `key`, `value`, `output`, another input's or output's, or the name of a workspace."""
    shape: tuple[int, ...]
    """As the kernel has it."""
    given_shape: tuple[int, ...] | None = None
    """As its caller has it, where that differs; the same elements in the same order."""
    dtype: str
    least_rows: int | None = None
    """Rows that are touched however few its caller's array has; None: it has as many as the shape says."""
    is_workspace: bool
    """Whether it is memory between kernels, which the executable allocates."""

    @property
    def callers_shape(self) -> tuple[int, ...]:
        """As its caller has it, at most."""
        return self.given_shape or self.shape

    def memory_shape(self, rows: int) -> tuple[int, ...]:
        """Return the shape of memory for a caller's array of so many rows."""
        if self.least_rows is None:
            return self.callers_shape
        return (max(rows, self.least_rows), *self.callers_shape[1:])

    @property
    def bytes(self) -> int:
        """Size in memory."""
        return math.prod(self.shape) * itemsize(self.dtype)

    @property
    def need(self) -> str:
        """What it takes of memory, in words."""
        what = f"workspace {self.name}" if self.is_workspace else self.name
        return f"the {what} takes {self.bytes / 1e9:.3g} GB, {self.dtype}{list(self.shape)}"

    @property
    def is_input(self) -> bool:
        """Whether a caller gives it."""
        return self.name not in OUTPUTS and not self.is_workspace

    @property
    def is_output(self) -> bool:
        """Whether a caller wants what is left there."""
        return self.name in OUTPUTS


class KernelPlan(BaseModel):
    """Kernels in calling order: kept in `artifact.json`, read by executables."""

    model_config = ConfigDict(frozen=True)

    kernels: tuple[Any, ...]

    @functools.cached_property
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


def describe_buffers(function: "ir.OpView") -> tuple[Buffer, ...]:
    """Read a kernel's buffers off its bufferized function."""
    from mlir import ir

    from harness.codegen.payloads.arguments import BUFFER, GIVEN_SHAPE, LEAST_ROWS, is_workspace

    buffers = []
    for buffer_type, of_argument in zip(function.type.inputs, function.arg_attrs, strict=True):
        attributes = ir.DictAttr(of_argument)
        if BUFFER in attributes:
            buffers.append(
                Buffer(
                    name=ir.StringAttr(attributes[BUFFER]).value,
                    shape=tuple(buffer_type.shape),
                    given_shape=(
                        tuple(ir.DenseI64ArrayAttr(attributes[GIVEN_SHAPE]))
                        if GIVEN_SHAPE in attributes
                        else None
                    ),
                    least_rows=(
                        ir.IntegerAttr(attributes[LEAST_ROWS]).value if LEAST_ROWS in attributes else None
                    ),
                    dtype=str(buffer_type.element_type),
                    is_workspace=is_workspace(attributes),
                )
            )
    return tuple(buffers)


def checked_input(arrays: Mapping[str, np.ndarray], buffer: Buffer) -> np.ndarray:
    """Return an input in memory order, with all rows that kernels touch.

    Raises `InputError` if it is missing or of another shape or type.
    """
    name = ARGUMENT_NAMES.get(buffer.name, buffer.name)
    shape = buffer.callers_shape
    if buffer.name not in arrays:
        raise InputError(f"{name}: missing, expected {buffer.dtype}{list(shape)}")
    array, dtype = arrays[buffer.name], buffer_dtype(buffer.dtype)
    if buffer.least_rows is not None:
        shape = (min(shape[0], len(array)), *shape[1:])
    if array.shape != shape or array.dtype != dtype:
        raise InputError(f"{name}: found {array.dtype}{list(array.shape)}, expected {dtype}{list(shape)}")
    return np.ascontiguousarray(_filled_up(array, buffer))


def _filled_up(array: np.ndarray, buffer: Buffer) -> np.ndarray:
    """Return an array with the rows that kernels touch: further tokens are 0, further sequences are empty."""
    missing = max(0, (buffer.least_rows or 0) - len(array))
    if not missing:
        return array
    added = np.zeros((missing, *array.shape[1:]), array.dtype)
    if array.ndim == 1:
        added[:] = array[-1]
    return np.concatenate([array, added])


def part_of(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return a caller's part of an output: all, but for rows that no token of the caller's is for."""
    return array[tuple(map(slice, shape))]
