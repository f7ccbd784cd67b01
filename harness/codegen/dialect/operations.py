"""Builders and typed views of the `attn` operations.

A builder inserts at the current insertion point and returns the new operation's view.  A view reads operands
and results by name.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from mlir import ir

LAYOUTS = ("nn", "nt", "tn", "tt")
SOFTMAX_NAMES = ("attn.softmax", "attn.unnormalized_softmax")
SUBTRACTS_FIRST = "subtracts_first"
"""An attribute that a softmax may have, see `Softmax.subtracts_first`."""

SHIFT = "shift"
"""Another one, see `Softmax.shift`."""

SLACK = "slack"
"""And one more, see `Softmax.slack`."""

SEGMENTS = "operandSegmentSizes"
"""The attribute that says which operands are there."""

SCORE_OPERANDS = ("mask", "bias")
"""What attention may change scores by, in the order of its operands."""


@dataclass(frozen=True)
class Operand:
    """An operand of a view's operation, by its number."""

    number: int

    def __get__(self, view: "View", owner: type) -> ir.Value:
        return view.operation.operands[self.number]


@dataclass(frozen=True)
class Result:
    """A result of a view's operation, by its number."""

    number: int

    def __get__(self, view: "View", owner: type) -> ir.Value:
        return view.operation.results[self.number]


@dataclass(frozen=True)
class View:
    """What all views have: the operation."""

    operation: ir.OpView


class BatchMatmul(View):
    """`product[.., m, n] = init + Σ_k lhs · rhs`; in the layouts `tn`, `tt` lhs is `[.., k, m]`, in `nt`,
    `tt` rhs is `[.., n, k]`."""

    NAME = "attn.batch_matmul"
    lhs = Operand(0)
    rhs = Operand(1)
    init = Operand(2)
    product = Result(0)

    @property
    def layout(self) -> str:
        """`nn`, `nt`, `tn` or `tt`."""
        return ir.StringAttr(self.operation.attributes["layout"]).value

    def subscripts(self) -> tuple[str, str, str]:
        """Return the loop letters of lhs, rhs and product; the last three loops are m, n and k."""
        rank = self.product.type.rank
        batch = loop_letters(rank - 2, avoid="mnk")
        left = "mk" if self.layout[0] == "n" else "km"
        right = "kn" if self.layout[1] == "n" else "nk"
        return batch + left, batch + right, batch + "mn"


class Softmax(View):
    """`softmax` or `unnormalized_softmax`: see `harness.codegen.dialect.definition` for the formulas."""

    x = Operand(0)
    probability_out = Operand(1)
    initial_maximum = Operand(2)
    initial_total = Operand(3)
    correction_out = Operand(4)
    probability = Result(0)
    maximum = Result(1)
    total = Result(2)
    correction = Result(3)

    @property
    def dimension(self) -> int:
        """The reduced dimension."""
        return ir.IntegerAttr(self.operation.attributes["dimension"]).value

    @property
    def scale(self) -> float:
        """c of e^(c·(x − m))."""
        return ir.FloatAttr(self.operation.attributes["scale"]).value

    @property
    def subtracts_first(self) -> bool:
        """Whether exponents are differences times c: right whatever scores are, for one operation more."""
        return SUBTRACTS_FIRST in self.operation.attributes

    @property
    def shift(self) -> int:
        """The power of two that probabilities and total are multiplied by."""
        attributes = self.operation.attributes
        return ir.IntegerAttr(attributes[SHIFT]).value if SHIFT in attributes else 0

    @property
    def slack(self) -> int:
        """The power of two that exponentials may reach before a running maximum moves; 0: it always does."""
        attributes = self.operation.attributes
        return ir.IntegerAttr(attributes[SLACK]).value if SLACK in attributes else 0

    def set_power(self, name: str, power: int) -> None:
        """Change one of the powers of two, `shift` or `slack`."""
        self.operation.attributes[name] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), power)

    @property
    def is_normalized(self) -> bool:
        """Whether probabilities are divided by their total."""
        return self.operation.name == SOFTMAX_NAMES[0]


@dataclass(frozen=True)
class ScoreOperand:
    """What attention changes scores by, a mask or a bias."""

    value: ir.Value
    axes: tuple[int, ...]
    """The axes of the scores that it has, for each of its dimensions."""


class Attention(View):
    """Attention over keys, continued from earlier ones: see `harness.codegen.dialect.definition`."""

    NAME = "attn.attention"
    query = Operand(0)
    key = Operand(1)
    value = Operand(2)
    init = Operand(3)
    initial_maximum = Operand(4)
    initial_total = Operand(5)
    output = Result(0)
    maximum = Result(1)
    total = Result(2)

    @property
    def scale(self) -> float:
        """c of the softmax: what `query · keyᵀ` is multiplied by."""
        return ir.FloatAttr(self.operation.attributes["scale"]).value

    @property
    def score_operands(self) -> dict[str, ScoreOperand]:
        """`mask` and `bias`, those that there are, in the order of operands."""
        present = list(ir.DenseI32ArrayAttr(self.operation.attributes[SEGMENTS]))[-len(SCORE_OPERANDS) :]
        names = [name for name, count in zip(SCORE_OPERANDS, present, strict=True) if count]
        return {
            name: ScoreOperand(value, tuple(ir.DenseI64ArrayAttr(self.operation.attributes[f"{name}_axes"])))
            for name, value in zip(names, list(self.operation.operands)[6:], strict=True)
        }


class Diag(View):
    """`[.., N] → [.., N, N]`."""

    NAME = "attn.diag"
    x = Operand(0)
    matrix = Result(0)


class _AnyMask(View):
    """Keeps some elements of a tile `x`."""

    x = Operand(0)
    masked = Result(0)

    @property
    def fill(self) -> float:
        """What hidden elements become."""
        return ir.FloatAttr(self.operation.attributes["fill"]).value


class _AffineMask(_AnyMask):
    """Keeps the elements of a tile whose position in the whole tensor satisfies affine inequalities."""

    @property
    def visible(self) -> ir.AffineMap:
        """From a position and symbols to numbers that are all ≥ 0 where an element is kept."""
        return ir.AffineMapAttr(self.operation.attributes["visible"]).value

    @property
    def dimensions(self) -> tuple[int, ...]:
        """Which map dimension each axis of the tile runs along."""
        return tuple(ir.DenseI64ArrayAttr(self.operation.attributes["dimensions"]))


class Mask(_AffineMask):
    """A mask whose symbols, if it has any, are the same for all elements."""

    NAME = "attn.mask"

    @property
    def offsets(self) -> list[ir.Value]:
        """Where the tile starts, one index per map dimension."""
        return list(self.operation.operands)[1 : 1 + self.visible.n_dims]

    @property
    def symbols(self) -> list[ir.Value]:
        """Values of the map's symbols."""
        return list(self.operation.operands)[1 + self.visible.n_dims :]


class LengthMask(_AffineMask):
    """A mask whose one symbol is a length, another one for each element along the tile's first axis."""

    NAME = "attn.length_mask"
    lengths = Operand(1)

    @property
    def offsets(self) -> list[ir.Value]:
        """Where the tile starts, one index per map dimension."""
        return list(self.operation.operands)[2:]


class RowMask(_AnyMask):
    """Keeps of each row the columns between the row's own bounds, `first` and `end`."""

    NAME = "attn.row_mask"
    first = Operand(1)
    end = Operand(2)
    offset = Operand(3)
    """Where the tile's columns start."""


MASKS: dict[str, type[Mask] | type[LengthMask] | type[RowMask]] = {
    kind.NAME: kind for kind in (Mask, LengthMask, RowMask)
}
"""The masks by their operations' names."""


def batch_matmul(lhs: ir.Value, rhs: ir.Value, init: ir.Value, layout: str = "nn") -> BatchMatmul:
    """Build `init + lhs · rhs`."""
    attributes = {"layout": ir.StringAttr.get(layout)}
    return BatchMatmul(create(BatchMatmul.NAME, [init.type], [lhs, rhs, init], attributes))


def softmax(
    x: ir.Value,
    probability_out: ir.Value,
    initial_maximum: ir.Value,
    initial_total: ir.Value,
    correction_out: ir.Value,
    *,
    dimension: int,
    scale: float = 1.0,
    normalized: bool = True,
    subtracts_first: bool = False,
    like: Softmax | None = None,
) -> Softmax:
    """Build a softmax over one dimension, continued from a maximum and a total.

    See `Softmax` for what it says besides; it may say the same as another.
    """
    operands = [x, probability_out, initial_maximum, initial_total, correction_out]
    types = [probability_out.type, initial_maximum.type, initial_total.type, correction_out.type]
    element = x.type.element_type
    attributes = {
        "dimension": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), dimension),
        "scale": ir.FloatAttr.get(element, scale),
    }
    if subtracts_first:
        attributes[SUBTRACTS_FIRST] = ir.UnitAttr.get()
    said = like.operation.attributes if like is not None else {}
    attributes |= {name: said[name] for name in (SUBTRACTS_FIRST, SHIFT, SLACK) if name in said}
    return Softmax(create(SOFTMAX_NAMES[0 if normalized else 1], types, operands, attributes))


def attention(
    query: ir.Value,
    key: ir.Value,
    value: ir.Value,
    init: ir.Value,
    initial_maximum: ir.Value,
    initial_total: ir.Value,
    *,
    scale: float,
    mask: ScoreOperand | None = None,
    bias: ScoreOperand | None = None,
) -> Attention:
    """Build attention, continued from what earlier keys gave."""
    present = [each for each in (mask, bias) if each is not None]
    carried = [init, initial_maximum, initial_total]
    operands = [query, key, value, *carried, *(each.value for each in present)]
    counts = [*[1] * 6, int(mask is not None), int(bias is not None)]
    attributes: dict[str, ir.Attribute] = {
        "scale": ir.FloatAttr.get(init.type.element_type, scale),
        SEGMENTS: ir.DenseI32ArrayAttr.get(counts),
        "mask_axes": ir.DenseI64ArrayAttr.get(list(mask.axes) if mask else []),
        "bias_axes": ir.DenseI64ArrayAttr.get(list(bias.axes) if bias else []),
    }
    return Attention(create(Attention.NAME, [each.type for each in carried], operands, attributes))


def diag(x: ir.Value, out: ir.Value) -> Diag:
    """Build the matrix with x on its diagonal."""
    return Diag(create(Diag.NAME, [out.type], [x, out], {}))


def mask(
    x: ir.Value,
    visible: ir.AffineMap,
    offsets: Sequence[ir.Value],
    symbols: Sequence[ir.Value] = (),
    *,
    dimensions: Sequence[int] | None = None,
    fill: float,
) -> Mask:
    """Build a mask; by default axis a of x runs along map dimension a."""
    attributes = _affine_attributes(x, visible, dimensions, fill)
    return Mask(create(Mask.NAME, [x.type], [x, *offsets, *symbols], attributes))


def length_mask(
    x: ir.Value,
    lengths: ir.Value,
    visible: ir.AffineMap,
    offsets: Sequence[ir.Value],
    *,
    dimensions: Sequence[int] | None = None,
    fill: float,
) -> LengthMask:
    """Build a mask by a length for each element along x's first axis; else as `mask`."""
    attributes = _affine_attributes(x, visible, dimensions, fill)
    return LengthMask(create(LengthMask.NAME, [x.type], [x, lengths, *offsets], attributes))


def _affine_attributes(
    x: ir.Value, visible: ir.AffineMap, dimensions: Sequence[int] | None, fill: float
) -> dict[str, ir.Attribute]:
    along = range(x.type.rank) if dimensions is None else dimensions
    return {
        "visible": ir.AffineMapAttr.get(visible),
        "dimensions": ir.DenseI64ArrayAttr.get(list(along)),
        "fill": ir.FloatAttr.get(x.type.element_type, fill),
    }


def row_mask(x: ir.Value, first: ir.Value, end: ir.Value, offset: ir.Value, *, fill: float) -> RowMask:
    """Build a mask by bounds of rows."""
    attributes = {"fill": ir.FloatAttr.get(x.type.element_type, fill)}
    return RowMask(create(RowMask.NAME, [x.type], [x, first, end, offset], attributes))


def create(
    name: str, types: Sequence[ir.Type], operands: Sequence[ir.Value], attributes: dict[str, ir.Attribute]
) -> ir.OpView:
    """Build an operation of the dialect by name."""
    operation = ir.Operation.create(name, results=list(types), operands=list(operands), attributes=attributes)
    return operation.opview


def loop_letters(count: int, avoid: str = "") -> str:
    """Return that many distinct letters for `harness.codegen.ir.builder.structured`."""
    letters = [letter for letter in "abcdefghijklmnopqrstuvwxyz" if letter not in avoid]
    return "".join(letters[:count])
