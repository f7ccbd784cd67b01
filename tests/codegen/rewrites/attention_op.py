"""One `attn.attention` in f64, and the same in NumPy."""

from dataclasses import dataclass

import numpy as np
from codegen.rewrites.attention_ir import LOWEST, integers
from codegen.rewrites.execution import payload
from mlir import ir

from harness.codegen.dialect import operations as attn
from harness.codegen.ir import builder as b

VISIBLE = (1, 0, 1, 1, 1, 0, 1, 1)
"""The mask along its one axis, from its beginning."""


@dataclass(frozen=True)
class AttentionOp:
    """One problem."""

    leading: tuple[int, ...] = (2,)
    queries: int = 5
    keys: int = 7
    width: int = 3
    width_v: int = 4
    scale: float = 0.5
    bias_axes: tuple[int, ...] | None = None
    mask_axes: tuple[int] | None = None
    """One axis at most."""
    continues: bool = False
    """Whether output, maximum and total of earlier keys are arguments."""

    @property
    def scores(self) -> tuple[int, ...]:
        """The shape of the scores."""
        return (*self.leading, self.queries, self.keys)

    def shapes(self) -> list[tuple[int, ...]]:
        """Return those of the arguments."""
        rows = (*self.leading, self.queries)
        shapes = [(*rows, self.width), (*self.leading, self.keys, self.width)]
        shapes.append((*self.leading, self.keys, self.width_v))
        if self.continues:
            shapes += [(*rows, self.width_v), rows, rows]
        if self.bias_axes is not None:
            shapes.append(tuple(self.scores[axis] for axis in self.bias_axes))
        return shapes

    def inputs(self) -> list[np.ndarray]:
        """Return random arguments; totals are positive."""
        rng = np.random.default_rng(3)
        arrays = [rng.normal(size=shape) * 2 for shape in self.shapes()]
        if self.continues:
            arrays[5] = np.abs(arrays[5]) + 0.5
        return arrays

    def module(self) -> ir.Module:
        """Return the function of the operation and its three results."""
        return payload(self.shapes(), self._build)

    def _build(self, *arguments: ir.Value) -> list[ir.Value]:
        rows = [*self.leading, self.queries]
        operands, changes = list(arguments), {}
        if self.bias_axes is not None:
            changes["bias"] = attn.ScoreOperand(operands.pop(), self.bias_axes)
        if self.mask_axes is not None:
            visible = integers(VISIBLE[: self.scores[self.mask_axes[0]]])
            changes["mask"] = attn.ScoreOperand(visible, self.mask_axes)
        if not self.continues:
            operands.append(b.filled(0.0, [*rows, self.width_v], "f64"))
            operands += [b.filled(number, rows, "f64") for number in (LOWEST, 0.0)]
        return list(attn.attention(*operands, scale=self.scale, **changes).operation.results)

    def reference(self, query: np.ndarray, key: np.ndarray, value: np.ndarray, *others: np.ndarray):
        """Return output, maximum and total, all of the keys at once."""
        rows = (*self.leading, self.queries)
        init, maximum, total = np.zeros((*rows, self.width_v)), np.full(rows, LOWEST), np.zeros(rows)
        if self.continues:
            init, maximum, total = others[:3]
        score = query @ np.swapaxes(key, -1, -2)
        if self.bias_axes is not None:
            score = score + self._spread(others[-1], self.bias_axes) / self.scale
        if self.mask_axes is not None:
            visible = np.array(VISIBLE[: self.scores[self.mask_axes[0]]])
            score = np.where(self._spread(visible, self.mask_axes) != 0, score, -np.inf)
        largest = np.maximum(maximum, score.max(-1))
        weight = np.exp(self.scale * (score - largest[..., None]))
        kept = total * np.exp(self.scale * (maximum - largest))
        sums = kept + weight.sum(-1)
        safe = np.where(sums == 0, 1, sums)[..., None]
        return [(kept[..., None] * init + weight @ value) / safe, largest, sums]

    def _spread(self, operand: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
        """Return an operand with the rank of the scores."""
        return operand.reshape([size if axis in axes else 1 for axis, size in enumerate(self.scores)])
