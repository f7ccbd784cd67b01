"""Attention of any rank in the `attn` dialect, in f64, and the same in NumPy."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from codegen.rewrites.execution import payload
from mlir import ir
from mlir.dialects import arith, tensor

from harness.codegen.dialect import operations as attn
from harness.codegen.ir import builder as b

LOWEST = -1e30


@dataclass(frozen=True)
class Attention:
    """One problem."""

    leading: tuple[int, ...] = ()
    """Batch and head, or none."""
    queries: int = 5
    keys: int = 7
    width: int = 3
    width_v: int = 4
    scale: float = 1.0
    """Inside the softmax."""
    factor: float | None = None
    """A multiplication of the scores before it."""
    shift: int | None = None
    """Causal: query i sees keys up to i + shift."""
    layout: str = "nt"
    """Of the first product."""
    normalized: bool = True
    continued: bool = False
    """Whether the softmax starts from arguments m0 and a0."""
    accumulates: bool = False
    """Whether the product with V starts from an argument."""

    @property
    def shapes(self) -> dict[str, tuple[str | int, ...]]:
        """Return names of arguments with their dimensions."""
        key = ("keys", "width") if self.layout == "nt" else ("width", "keys")
        shapes: dict[str, tuple[str | int, ...]] = {
            "query": (*self.leading, "queries", "width"),
            "key": (*self.leading, *key),
            "value": (*self.leading, "keys", "width_v"),
        }
        if self.continued:
            shapes |= dict.fromkeys(("maximum", "total"), (*self.leading, "queries"))
        if self.accumulates:
            shapes["accumulator"] = (*self.leading, "queries", "width_v")
        return shapes

    def arguments(self) -> list[tuple[int, ...]]:
        """Return the shapes of the payload's arguments."""
        return [
            tuple(getattr(self, name) if isinstance(name, str) else name for name in dimensions)
            for dimensions in self.shapes.values()
        ]

    def inputs(self, seed: int = 0) -> list[np.ndarray]:
        """Return random arguments."""
        rng = np.random.default_rng(seed)
        arrays = [rng.normal(size=shape) * 2 for shape in self.arguments()]
        return [
            np.abs(array) + 0.5 if name == "total" else array
            for name, array in zip(self.shapes, arrays, strict=True)
        ]

    @property
    def output_shape(self) -> tuple[int, ...]:
        """Return the shape of the output."""
        return (*self.leading, self.queries, self.width_v)

    def with_scores(self, change: Callable[[ir.Value], ir.Value]) -> Callable[..., list[ir.Value]]:
        """Return a builder of attention whose softmax is of changed scores."""

        def build(*values: ir.Value) -> list[ir.Value]:
            steps = self.build(*values)
            with ir.InsertionPoint(steps.softmax.operation):
                steps.softmax.operation.operands[0] = change(steps.score)
            return [steps.output]

        return build

    def module(self) -> ir.Module:
        """Return the untiled payload."""
        return payload(self.arguments(), lambda *values: [self.build(*values).output])

    def build(self, *values: ir.Value) -> "Steps":
        """Build the steps at the current insertion point."""
        given = dict(zip(self.shapes, values, strict=True))
        keys = b.size_of(given["key"], len(self.leading) + (0 if self.layout == "nt" else 1))
        shape = [*b.sizes_of(given["query"])[:-1], keys]
        zeros = b.filled(0.0, shape, "f64")
        product = attn.batch_matmul(given["query"], given["key"], zeros, self.layout).product
        score = product
        if self.factor is not None:
            score = scaled(score, self.factor)
        if self.shift is not None:
            score = causally_masked(score, self.shift)
        rows = b.sizes_of(score)[:-1]
        maximum = given.get("maximum") or b.filled(LOWEST, rows, "f64")
        softmax = attn.softmax(
            score,
            b.empty(b.sizes_of(score), "f64"),
            maximum,
            given.get("total") or b.filled(0.0, rows, "f64"),
            b.empty(rows, "f64"),
            dimension=len(self.leading) + 1,
            scale=self.scale,
            normalized=self.normalized,
        )
        columns = b.size_of(given["value"], len(self.leading) + 1)
        start = given.get("accumulator") or b.filled(0.0, [*rows, columns], "f64")
        output = attn.batch_matmul(softmax.probability, given["value"], start).product
        return Steps(product, score, softmax, output)

    def reference(self, *inputs: np.ndarray) -> "Reference":
        """Return the same in NumPy."""
        given = dict(zip(self.shapes, inputs, strict=True))
        key = given["key"] if self.layout == "nn" else np.swapaxes(given["key"], -1, -2)
        product = given["query"] @ key
        score = product * (1.0 if self.factor is None else self.factor)
        if self.shift is not None:
            row, column = np.indices(score.shape[-2:])
            score = np.where(column <= row + self.shift, score, -np.inf)
        rows = score.shape[:-1]
        result = softmax_reference(
            score,
            given.get("maximum", np.full(rows, LOWEST)),
            given.get("total", np.zeros(rows)),
            scale=self.scale,
            normalized=self.normalized,
        )
        output = result.probability @ given["value"] + given.get("accumulator", 0.0)
        return Reference(product, score, result, output)


@dataclass(frozen=True)
class Steps:
    """Values of the payload."""

    product: ir.Value
    score: ir.Value
    softmax: attn.Softmax
    output: ir.Value


@dataclass(frozen=True)
class SoftmaxReference:
    """The four results of a softmax."""

    probability: np.ndarray
    maximum: np.ndarray
    total: np.ndarray
    correction: np.ndarray

    def __iter__(self):
        return iter((self.probability, self.maximum, self.total, self.correction))


@dataclass(frozen=True)
class Reference:
    """Values of the payload in NumPy."""

    product: np.ndarray
    score: np.ndarray
    softmax: SoftmaxReference
    output: np.ndarray


def softmax_reference(
    x: np.ndarray, maximum: np.ndarray, total: np.ndarray, *, scale: float, normalized: bool, axis: int = -1
) -> SoftmaxReference:
    """Return the softmax of `harness.codegen.dialect.definition`."""
    new_maximum = np.maximum(maximum, x.max(axis))
    exponential = np.exp(scale * (x - np.expand_dims(new_maximum, axis)))
    carried = total * np.exp(scale * (maximum - new_maximum))
    new_total = carried + exponential.sum(axis)
    if not normalized:
        return SoftmaxReference(exponential, new_maximum, new_total, np.exp(scale * (maximum - new_maximum)))
    divisor = np.where(new_total == 0, 1.0, new_total)
    return SoftmaxReference(
        exponential / np.expand_dims(divisor, axis), new_maximum, new_total, carried / divisor
    )


def scaled(value: ir.Value, factor: float) -> ir.Value:
    """Build `factor · value`."""
    axes = attn.loop_letters(value.type.rank)
    return b.structured(
        f"{axes}->{axes}",
        [value],
        b.empty_like(value),
        lambda element: arith.mulf(element, b.constant(factor, "f64")),
    )


def causally_masked(value: ir.Value, shift: int) -> ir.Value:
    """Build the mask that hides keys later than the query's position plus the shift."""
    rank = value.type.rank
    row, column = ir.AffineDimExpr.get(rank - 2), ir.AffineDimExpr.get(rank - 1)
    visible = ir.AffineMap.get(rank, 0, [row - column + shift])
    return attn.mask(value, visible, [b.index(0)] * rank, fill=-math.inf).masked


def row_masked(value: ir.Value, bounds: Sequence[tuple[int, int]], offset: int = 0) -> ir.Value:
    """Build the mask that hides, in each row, the columns outside of its bounds."""
    first, end = (integers(values) for values in zip(*bounds, strict=True))
    return attn.row_mask(value, first, end, b.index(offset), fill=-math.inf).masked


def integers(values: Sequence[int]) -> ir.Value:
    """Build a tensor of 32-bit integers."""
    return tensor.from_elements(b.tensor_type([len(values)], "i32"), [b.integer(value) for value in values])


def doubled(value: ir.Value) -> ir.Value:
    """Build `value + value`."""
    axes = attn.loop_letters(value.type.rank)
    return b.structured(f"{axes}->{axes}", [value], b.empty_like(value), lambda x: arith.addf(x, x))
