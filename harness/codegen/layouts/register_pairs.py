"""Registers of 32 bits of a fragment of 16-bit elements, taken from where they were loaded to."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlir import ir

PAIR = 2
"""Elements of 16 bits in a register."""


def pairs_of(fragment: "ir.Value") -> "list[ir.Value]":
    """Return the pairs of neighbours in a fragment, a vector of one dimension, as vectors.

    A load of matrices gives pairs, which a change of shape makes a fragment, of which they are cut out again.
    Seen through, both leave no code: a matrix product of a tile has hundreds of pairs.
    """
    from mlir import ir
    from mlir.dialects import vector

    source, first = fragment, 0
    while (cut := _owner(source, "vector.extract_strided_slice")) is not None:
        first += ir.IntegerAttr(ir.ArrayAttr(cut.attributes["offsets"])[0]).value
        source = cut.operands[0]
    starts = range(first, first + fragment.type.shape[0], PAIR)
    reshaped = _owner(source, "vector.shape_cast")
    if reshaped is not None and reshaped.operands[0].type.shape[1:] == [PAIR] and first % PAIR == 0:
        return [vector.extract(reshaped.operands[0], [], [start // PAIR]) for start in starts]
    kind = ir.VectorType.get([PAIR], fragment.type.element_type)
    return [vector.extract_strided_slice(kind, source, [start], [PAIR], [1]) for start in starts]


def _owner(value: "ir.Value", name: str) -> "ir.OpView | None":
    from mlir import ir

    if isinstance(value.owner, ir.Block) or value.owner.operation.name != name:
        return None
    return value.owner.opview
