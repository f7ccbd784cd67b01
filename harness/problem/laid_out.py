"""The layout in which code is given inputs: that of the inputs which its checks have drawn."""

from dataclasses import replace

import numpy as np

from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import ARRAYS, Inputs


def laid_out(inputs: Inputs, problem: AttentionProblem) -> Inputs:
    """Return inputs C-contiguous and aligned, mask and bias with all four axes in the problem's shape.

    Arrays that are so already are the same ones.  A mask or bias that differs along more axes than the
    problem says keeps them.
    """
    arrays = {name: array for name in ARRAYS if (array := getattr(inputs, name)) is not None}
    for name, kind in problem.operands().items():
        if name in arrays and arrays[name].shape != kind.shape:
            arrays[name] = _broadcast(arrays[name], kind.shape)
    laid = replace(inputs, **{name: _contiguous(array) for name, array in arrays.items()})  # type: ignore[arg-type]
    if inputs.projections is None:
        return laid
    weights = {name: _contiguous(array) for name, array in inputs.projections.arrays().items()}
    return replace(laid, projections=replace(inputs.projections, **weights))


def _broadcast(operand: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    missing = len(shape) - operand.ndim
    of_four_axes = operand.reshape((1,) * missing + operand.shape) if missing else operand
    if of_four_axes.shape == shape:
        return of_four_axes
    if any(size not in (1, wanted) for size, wanted in zip(of_four_axes.shape, shape, strict=True)):
        return of_four_axes
    return np.broadcast_to(of_four_axes, shape)


def _contiguous(array: np.ndarray) -> np.ndarray:
    return np.require(array, requirements=("C_CONTIGUOUS", "ALIGNED"))
