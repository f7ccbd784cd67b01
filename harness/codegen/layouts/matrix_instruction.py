"""What a matrix instruction is: shape, types, the layouts of its operands, and how to emit it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from harness.codegen.layouts.layout import Layout, Place
from harness.system.errors import InputError

if TYPE_CHECKING:
    from mlir import ir

Registers = tuple["ir.Value", ...]
"""An operand as an instruction takes it."""

OPERANDS = ("A", "B", "C")


@dataclass(frozen=True)
class MatrixInstruction:
    """An instruction that computes C + A·Bᵀ for a warp: A is m×k, B is n×k, C is m×n.

    B is described as n×k, which is how attention uses it: its rows are keys in Q·Kᵀ.
    """

    name: str
    vendor: str
    m: int
    n: int
    k: int
    operand: str
    """Element type of A and B."""
    accumulator: str
    """Element type of C."""
    a: Layout
    b: Layout
    c: Layout
    source: str
    """Where the operands' layouts are documented."""
    prepare: "Callable[[ir.Value], Registers]"
    """Emits what makes the instruction's registers of a fragment of A or B, a vector of one dimension."""
    terms: int = field(default=1, kw_only=True)
    """Numbers that stand for one element of A or B, whose sum it is."""
    emit: "Callable[[Sequence[tuple[Registers, Registers]], ir.Value], ir.Value]"
    """Emits one instruction for each pair of operands, all added to a fragment of C; returns the result's."""

    @property
    def lanes(self) -> int:
        """Lanes that execute the instruction together."""
        return self.a.lanes

    def operand_layout(self, letter: str) -> Layout:
        """Return the layout of A, B or C."""
        return {"A": self.a, "B": self.b, "C": self.c}[letter]


def swapped(instruction: MatrixInstruction) -> MatrixInstruction:
    """Return an instruction with A and B exchanged: what it computes is then Cᵀ, held as C was."""

    def emit(pairs: "Sequence[tuple[Registers, Registers]]", accumulator: "ir.Value") -> "ir.Value":
        return instruction.emit([(b, a) for a, b in pairs], accumulator)

    return replace(
        instruction,
        name=f"{instruction.name}.swapped",
        m=instruction.n,
        n=instruction.m,
        a=instruction.b,
        b=instruction.a,
        c=instruction.c.transposed(),
        emit=emit,
    )


def regrouped(instruction: MatrixInstruction, a: Layout, b: Layout) -> MatrixInstruction:
    """Return an instruction whose operands have another order along k, or a depth that several take.

    It does not matter which elements along k an instruction adds up first, as long as A and B agree.  Where a
    fragment has more registers than the instruction takes, `prepare` and `emit` take them piece by piece.

    Args:
        instruction: what is executed, once or for several pieces of a fragment.
        a: the new layout of A, m×depth.
        b: the new layout of B, n×depth.

    Raises `ValueError` where A and B disagree, or rows lie elsewhere than the instruction has them.
    """
    orders = [
        _depth_order(old, new, instruction.name) for old, new in ((instruction.a, a), (instruction.b, b))
    ]
    if orders[0] != orders[1]:
        raise ValueError(f"{instruction.name}: A and B have different orders along k")
    return replace(instruction, k=a.shape[1], a=a, b=b)


def _depth_order(old: Layout, new: Layout, name: str) -> dict[tuple[int, int], int]:
    """Return the new number along k of each piece and old number along k."""
    order: dict[tuple[int, int], int] = {}
    for place in new.places():
        piece, register = divmod(place.register, old.registers)
        old_row, old_depth = old.coordinates(Place(place.warp, place.lane, place.fragment, register))
        row, depth = new.coordinates(place)
        if row != old_row or order.setdefault((piece, old_depth), depth) != depth:
            raise ValueError(f"{name}: {new} is no other order along k of {old}")
    return order


def named(instructions: Iterable[MatrixInstruction], name: str) -> MatrixInstruction:
    """Return the instruction of a name; raises `InputError` naming those there are."""
    by_name = {instruction.name: instruction for instruction in instructions}
    if name not in by_name:
        raise InputError(f"no matrix instruction {name!r}: expected one of {', '.join(by_name)}")
    return by_name[name]
