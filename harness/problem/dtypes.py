"""Element types by the names that the harness uses everywhere: `f32`, `f16`, `bf16`."""

import math
from dataclasses import dataclass
from typing import Any, Literal, cast

import ml_dtypes
import numpy as np

from harness.system.errors import InputError
from harness.system.validation import unknown_name

DTypeName = Literal["f32", "f16", "bf16"]

NUMPY_DTYPES: dict[str, np.dtype] = {
    "f32": np.dtype(np.float32),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
}

BOOLEAN = "i8"
"""How kernels hold truth values: a byte each, as NumPy does; what is not 0 is true."""

BUFFER_DTYPES: dict[str, np.dtype] = {
    **NUMPY_DTYPES,
    "i32": np.dtype(np.int32),
    BOOLEAN: np.dtype(np.bool_),
}

LONG_NAMES = {"float32": "f32", "float16": "f16", "bfloat16": "bf16"}


def short_name(name: Any) -> Any:
    """Return the short name of a dtype given by its long name; anything else as it is."""
    return LONG_NAMES.get(name, name) if isinstance(name, str) else name


def canonical_dtype(name: str) -> DTypeName:
    """Return the short name of a dtype given by its short or long name."""
    short = short_name(name)
    if short not in NUMPY_DTYPES:
        raise InputError(unknown_name("dtype", name, NUMPY_DTYPES))
    return cast(DTypeName, short)


def numpy_dtype(name: str) -> np.dtype:
    """Return the NumPy dtype (bfloat16 through ml_dtypes) of a dtype name."""
    return NUMPY_DTYPES[canonical_dtype(name)]


def buffer_dtype(name: str) -> np.dtype:
    """Return the NumPy dtype of a kernel's buffer, which may also hold 32-bit integers or truth values."""
    return BUFFER_DTYPES[name] if name in BUFFER_DTYPES else numpy_dtype(name)


def dtype_name(dtype: np.dtype) -> DTypeName:
    """Return the harness's name of a NumPy dtype."""
    for name, candidate in NUMPY_DTYPES.items():
        if candidate == dtype:
            return cast(DTypeName, name)
    raise InputError(f"unsupported dtype {dtype}; expected one of {', '.join(LONG_NAMES)}")


def itemsize(name: str) -> int:
    """Return the size of one element in bytes."""
    return buffer_dtype(name).itemsize


@dataclass(frozen=True)
class ArrayType:
    """Shape and element type of an array that a problem reads or gives."""

    shape: tuple[int, ...]
    dtype: str

    @property
    def numpy_dtype(self) -> np.dtype:
        """The NumPy dtype of its elements."""
        return buffer_dtype(self.dtype)

    @property
    def nbytes(self) -> int:
        """Its size in bytes."""
        return math.prod(self.shape) * itemsize(self.dtype)
