"""Outputs that a run keeps of its checks: what two executors make of the same code can be compared later.

`outputs/<case>.npz` in the run's folder holds what a case gives for the inputs of the first distribution: the
bits of each output, an unsigned integer for each element, by its name and dtype, and the check's error over
tolerance.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from harness.problem.dtypes import LONG_NAMES, NUMPY_DTYPES
from harness.system.errors import InputError, one_line
from harness.system.storage.reading import exists
from harness.system.storage.replacing import replaced

OUTPUTS_FOLDER = "outputs"
MOST_KEPT_BYTES = 4 * 2**20
"""Of all outputs of a case together: larger ones are not kept."""
ERROR_RATIO = "error_ratio"


@dataclass(frozen=True)
class KeptOutputs:
    """What a case gave in a check."""

    arrays: Mapping[str, np.ndarray]
    error_ratio: float
    """Largest error over its tolerance in that check."""


def file_of(run: Path, case_id: str) -> Path:
    """Return where the folder of a run has the outputs of a case."""
    return run / OUTPUTS_FOLDER / f"{case_id}.npz"


def keep_outputs(path: Path, outputs: Mapping[str, np.ndarray], error_ratio: float) -> None:
    """Write outputs of the problems' dtypes to a file, unless they are large."""
    arrays = {name: array for name, array in outputs.items() if array.dtype.name in LONG_NAMES}
    if not arrays or sum(array.nbytes for array in arrays.values()) > MOST_KEPT_BYTES:
        return
    bits = {f"{name}.{LONG_NAMES[array.dtype.name]}": bits_of(array) for name, array in arrays.items()}
    with replaced(path) as temporary, temporary.open("wb") as file:
        np.savez(file, **bits, **{ERROR_RATIO: np.float64(error_ratio)})  # type: ignore[arg-type]


def kept_outputs(path: Path) -> KeptOutputs | None:
    """Read what `keep_outputs` wrote; None where it wrote nothing, `InputError` for what is no such file."""
    if not exists(path):
        return None
    try:
        with np.load(path, allow_pickle=False) as file:
            ratio = float(file[ERROR_RATIO])
            arrays = {name: file[name] for name in file.files if name != ERROR_RATIO}
        named = {name.rpartition(".")[0]: _as_dtype(name, bits) for name, bits in arrays.items()}
    except (OSError, EOFError, ValueError, TypeError, KeyError, BadZipFile) as error:
        raise InputError(f"{path}: cannot read outputs: {one_line(error)}") from error
    return KeptOutputs(named, ratio)


def _as_dtype(name: str, bits: np.ndarray) -> np.ndarray:
    return bits.view(NUMPY_DTYPES[name.rpartition(".")[2]])


def bits_of(array: np.ndarray) -> np.ndarray:
    """Return the bits of each element as an unsigned integer."""
    return np.ascontiguousarray(array).view(f"u{array.itemsize}")
