"""The outputs of attention by name, and whether what a call gives can be those of a problem."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from harness.problem.attention_problem import AttentionProblem

OUTPUT = "output"
"""O, in the dtype of the inputs."""

LOG_SUM_EXP = "log_sum_exp"
"""log Σ exp(score) of each row, f32."""

OUTPUTS = (OUTPUT, LOG_SUM_EXP)
"""All that there may be, by the names of kernels' buffers."""


def require_arrays(outputs: Mapping[str, object]) -> None:
    """Raise `TypeError` for an output of a call that is no array."""
    if not isinstance(outputs, Mapping):
        raise TypeError(f"outputs: found a {type(outputs).__name__}, expected arrays by name")
    for name, array in outputs.items():
        if not isinstance(array, np.ndarray):
            raise TypeError(f"{name}: found a {type(array).__name__}, expected an array")


def why_unusable(outputs: Mapping[str, object], problem: "AttentionProblem") -> str | None:
    """Return why these are no outputs of a problem, None where they are: others besides do not matter."""
    try:
        require_arrays(outputs)
    except TypeError as error:
        return str(error)
    for name, expected in problem.outputs().items():
        if name not in outputs:
            return why_missing(name, outputs)
        if (difference := why_another(outputs[name], expected.shape, expected.numpy_dtype)) is not None:
            return difference if name == OUTPUT else f"log-sum-exp: {difference}"
    return None


def why_missing(name: str, outputs: Mapping[str, object]) -> str:
    """Return that there is no output of a name, and which there are."""
    return f"no output {name}, found {', '.join(map(str, outputs)) or 'none'}"


def why_another(array: object, shape: tuple[int, ...], dtype: np.dtype) -> str | None:
    """Return why an array is no output of this shape and dtype, None where it is."""
    if not isinstance(array, np.ndarray):
        return f"output of type {type(array).__name__}, expected an array"
    if array.shape != shape:
        return f"output shape {array.shape}, expected {shape}"
    return None if array.dtype == dtype else f"output dtype {array.dtype}, expected {dtype}"
