"""What a matrix instruction is: shape, types, the layouts of its operands, and how to emit it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from harness.codegen.layouts.layout import Layout
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


def named(instructions: Iterable[MatrixInstruction], name: str) -> MatrixInstruction:
    """Return the instruction of a name; raises `InputError` naming those there are."""
    by_name = {instruction.name: instruction for instruction in instructions}
    if name not in by_name:
        raise InputError(f"no matrix instruction {name!r}: expected one of {', '.join(by_name)}")
    return by_name[name]
