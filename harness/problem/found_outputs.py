"""Whether what a call gives can be the outputs of its problem: arrays of their shapes and dtypes."""

from collections.abc import Mapping

import numpy as np

from harness.problem.attention_problem import AttentionProblem
from harness.problem.dtypes import numpy_dtype
from harness.problem.outputs import LOG_SUM_EXP, OUTPUT


def require_arrays(outputs: Mapping[str, object]) -> None:
    """Raise `TypeError` for an output of a call that is no array."""
    if (reason := _why_no_arrays(outputs)) is not None:
        raise TypeError(reason)


def why_unusable(outputs: Mapping[str, object], problem: AttentionProblem) -> str | None:
    """Return why these are no outputs of a problem, None where they are: others besides do not matter."""
    if (reason := _why_no_arrays(outputs)) is not None:
        return reason
    for name, (shape, dtype) in _expected(problem).items():
        if name not in outputs:
            return why_missing(name, outputs)
        if (difference := why_another(outputs[name], shape, dtype)) is not None:
            return difference if name == OUTPUT else f"log-sum-exp: {difference}"
    return None


def asked_for(outputs: Mapping[str, np.ndarray], problem: AttentionProblem) -> dict[str, np.ndarray]:
    """Return the outputs that a problem has, of a call that may have more."""
    return {name: outputs[name] for name in _expected(problem)}


def why_missing(name: str, outputs: Mapping[str, object]) -> str:
    """Return that there is no output of a name, and which there are."""
    return f"no output {name}, found {', '.join(map(str, outputs)) or 'none'}"


def why_another(found: object, shape: tuple[int, ...], dtype: np.dtype) -> str | None:
    """Return why an array is no output of this shape and dtype, None where it is."""
    if not isinstance(found, np.ndarray):
        return f"output of type {type(found).__name__}, expected an array"
    if found.shape != shape:
        return f"output shape {found.shape}, expected {shape}"
    return None if found.dtype == dtype else f"output dtype {found.dtype}, expected {dtype}"


def _expected(problem: AttentionProblem) -> dict[str, tuple[tuple[int, ...], np.dtype]]:
    """Return shape and dtype of each output of a problem."""
    expected = {OUTPUT: (problem.output_shape, numpy_dtype(problem.dtype))}
    if problem.log_sum_exp:
        expected[LOG_SUM_EXP] = (problem.log_sum_exp_shape, np.dtype(np.float32))
    return expected


def _why_no_arrays(outputs: Mapping[str, object]) -> str | None:
    if not isinstance(outputs, Mapping):
        return f"outputs: found a {type(outputs).__name__}, expected arrays by name"
    for name, found in outputs.items():
        if not isinstance(found, np.ndarray):
            return f"{name}: found a {type(found).__name__}, expected an array"
    return None
