"""Seeded random inputs of a problem, drawn from named distributions (`harness.problem.distributions`)."""

from dataclasses import dataclass, replace

import numpy as np

from harness.problem.attention_problem import OPERANDS, AttentionProblem
from harness.problem.distributions import DISTRIBUTIONS, draw_arrays, draw_sinks, draw_weights
from harness.problem.dtypes import numpy_dtype
from harness.problem.pages import Paging
from harness.problem.projections import ProjectionInputs, plain_projections, projection_shapes
from harness.problem.random_masks import random_mask
from harness.system.errors import InputError
from harness.system.machine.placement import placement
from harness.system.machine.poison import poison

ARRAYS = ("q", "k", "v", *OPERANDS)


@dataclass(frozen=True)
class Inputs:
    """The arrays of one problem, in the problem's dtype (mask: bool)."""

    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    mask: np.ndarray | None = None
    """Boolean, true where visible; broadcasts to [batch, heads, seq_q, seq_kv]."""
    bias: np.ndarray | None = None
    """Broadcasts like the mask."""
    sinks: np.ndarray | None = None
    """A logit of each head, `[heads]`."""
    projections: ProjectionInputs | None = None
    """Tokens and weights that q, k and v are projected from, where that is part of the problem; q, k and v
    are then the projections as the plain implementation has them."""
    paging: Paging | None = None
    """Where kernels find keys and values in pages, if they do; k and v are packed here nevertheless."""

    def as_given(self) -> "Inputs":
        """Return these inputs, q, k and v filled with NaN in place where code is to project them itself.

        Code that took them would leave the projections out, and be right and fast.
        """
        if self.projections is not None:
            for array in (self.q, self.k, self.v):
                poison(array)
        return self

    def as_expected(self, problem: AttentionProblem) -> "Inputs":
        """Return these inputs with q, k and v as the plain implementation projects them, where it does."""
        if self.projections is None:
            return self
        q, k, v = plain_projections(self.projections, problem)
        return replace(self, q=q, k=k, v=v)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return all arrays by name, those that projections are made from among them."""
        named = {name: getattr(self, name) for name in ARRAYS}
        if self.projections is not None:
            named |= self.projections.arrays()
        return {name: array for name, array in named.items() if array is not None}

    def operands(self) -> dict[str, np.ndarray]:
        """Return those of `OPERANDS` that are there."""
        return {name: array for name in OPERANDS if (array := getattr(self, name)) is not None}

    def buffers(self, problem: AttentionProblem) -> dict[str, np.ndarray]:
        """Return what kernels' arguments hold, by their names (`harness.codegen.payloads.arguments`)."""
        if self.projections is None:
            arrays = {"query": self.q, "key": self.k, "value": self.v}
        else:
            arrays = self.projections.arrays()
        arrays |= self.operands()
        for name, kind in problem.operands().items():
            if name in arrays:
                arrays[name] = _as_large_as(name, arrays[name], kind.shape)
        if self.paging is not None:
            arrays |= {name: self.paging.pool(arrays[name]) for name in ("key", "value")}
        return arrays | lengths_of(problem, self.paging)


def inputs_of(arrays: dict[str, np.ndarray], paging: Paging | None = None) -> Inputs:
    """Return the inputs whose `arrays` these are, by name."""
    own = {name: arrays[name] for name in ARRAYS if name in arrays}
    others = {name: array for name, array in arrays.items() if name not in own}
    return Inputs(**own, projections=ProjectionInputs(**others) if others else None, paging=paging)


def lengths_of(problem: AttentionProblem, paging: Paging | None = None) -> dict[str, np.ndarray]:
    """Return the lengths and places of sequences that kernels read, i32, by the names of these arguments."""
    names = ("cu_seqlens_q", "cu_seqlens_kv", "kv_lengths")
    lengths = {name: getattr(problem, name) for name in names}
    arrays = {name: np.array(values, np.int32) for name, values in lengths.items() if values is not None}
    if paging is not None:
        del arrays["cu_seqlens_kv"]
        arrays |= paging.indices()
    return arrays


def _as_large_as(name: str, operand: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return a mask or bias in the shape that the problem's kernels take, a smaller one repeated."""
    try:
        return np.broadcast_to(operand, shape)
    except ValueError as error:
        operand_shape, expected = list(operand.shape), list(shape)
        raise InputError(
            f"{name}: found shape {operand_shape}, generated kernels take what broadcasts to {expected}"
        ) from error


def laid_out(inputs: Inputs, problem: AttentionProblem) -> Inputs:
    """Return inputs as checks draw them: C-contiguous and aligned, mask and bias in the problem's shape.

    Arrays that are so already are the same ones.  A mask or bias that differs along more axes than the
    problem says keeps them.
    """
    arrays = inputs.arrays()
    for name, kind in problem.operands().items():
        if name in arrays and arrays[name].shape != kind.shape:
            arrays[name] = _broadcast(arrays[name], kind.shape)
    laid = {name: np.require(array, requirements=["C", "A"]) for name, array in arrays.items()}
    return inputs_of(laid, inputs.paging)


def _broadcast(operand: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    of_four_axes = operand.reshape((1,) * (len(shape) - operand.ndim) + operand.shape)
    is_smaller = all(size in (1, whole) for size, whole in zip(of_four_axes.shape, shape, strict=True))
    if of_four_axes.shape == shape or not is_smaller:
        return of_four_axes
    return np.broadcast_to(of_four_axes, shape)


def make_inputs(problem: AttentionProblem, distribution: str = "normal", seed: int = 0) -> Inputs:
    """Draw the inputs of a problem; the same problem, distribution and seed give the same arrays.

    All arrays are C-contiguous.  Keys and values beyond `kv_lengths` are NaN: what a cache holds there is of
    no call.  Where the problem has them, mask and bias are of size 1 along the axes that they do not have,
    and `random_mask` draws the mask.  Raises `InputError` for an unknown distribution.
    """
    if distribution not in DISTRIBUTIONS:
        raise InputError(
            f"unknown input distribution {distribution!r}; expected one of {', '.join(DISTRIBUTIONS)}"
        )
    arrays = _of_dtype(draw_arrays(problem, distribution, seed), problem)
    if problem.model_width is None:
        return inputs_of(arrays)
    projections = ProjectionInputs(**{name: arrays[name] for name in projection_shapes(problem)})
    projected = map(np.ascontiguousarray, plain_projections(projections, problem))
    return inputs_of(arrays | dict(zip("qkv", projected, strict=True)))


def other_operands(problem: AttentionProblem, seed: int, turn: int) -> dict[str, np.ndarray]:
    """Draw another mask, bias, sinks and weights by name, of these what a problem has."""
    generator = np.random.default_rng((seed, turn))
    drawn: dict[str, np.ndarray] = {}
    if problem.mask:
        drawn["mask"] = random_mask(problem, generator, turn)
    if problem.bias:
        drawn["bias"] = generator.standard_normal(problem.bias_shape, dtype=np.float32)
    drawn |= draw_sinks(problem, generator)
    shapes = projection_shapes(problem)
    drawn |= {name: draw_weights(shape, generator) for name, shape in shapes.items() if name != "tokens"}
    return _of_dtype(drawn, problem)


def _of_dtype(arrays: dict[str, np.ndarray], problem: AttentionProblem) -> dict[str, np.ndarray]:
    dtype = numpy_dtype(problem.dtype)
    return {
        name: array if array.dtype == np.bool_ else np.ascontiguousarray(array, dtype)
        for name, array in arrays.items()
    }


def guarded(drawn: Inputs) -> Inputs:
    """Return a copy of inputs, each array between bytes that nothing is to read."""
    arrays, paging = drawn.arrays(), drawn.paging
    del drawn  # so that no more than one array is there twice, where nobody else has them
    for name in list(arrays):
        arrays[name] = placement.guarded(arrays.pop(name))
    return inputs_of(arrays, paging)
