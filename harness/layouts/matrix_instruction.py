"""What a matrix instruction is: shape, types, the layouts of its operands, and how to emit it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from harness.errors import InputError
from harness.layouts.layout import Layout

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

    def __post_init__(self) -> None:
        """Raise `ValueError` unless the layouts have the shapes that m, n and k ask for."""
        shapes = {"A": (self.m, self.k), "B": (self.n, self.k), "C": (self.m, self.n)}
        for letter, shape in shapes.items():
            if self.operand_layout(letter).shape != shape:
                found = self.operand_layout(letter).shape
                raise ValueError(f"{self.name}: {letter} is {found}, not {shape}")

    @property
    def lanes(self) -> int:
        """Lanes that execute the instruction together."""
        return self.a.lanes

    def operand_layout(self, letter: str) -> Layout:
        """Return the layout of A, B or C."""
        return {"A": self.a, "B": self.b, "C": self.c}[letter]


def named(instructions: Iterable[MatrixInstruction], name: str) -> MatrixInstruction:
    """Return the instruction of a name; raises `InputError` naming those there are."""
    by_name = {instruction.name: instruction for instruction in instructions}
    if name not in by_name:
        raise InputError(f"no matrix instruction {name!r}: expected one of {', '.join(by_name)}")
    return by_name[name]
