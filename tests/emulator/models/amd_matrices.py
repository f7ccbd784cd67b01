"""Matrix instructions of AMD GPUs as tables of owners, and checks of their models against the tables.

A table says where an element of a matrix lies, in the words of the AMD matrix instruction calculator
(`matrix_calculator.py --detail-instruction`): in which lanes, in which register (GPR) of their operand, and
in which of its parts, [15:0] being part 0 and [31:16] part 1 of a register with two 16-bit elements.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import ml_dtypes
import numpy as np
from fragment_tables import lane_table
from model_calls import Argument, Call, ModelLibrary

BF16 = np.dtype(ml_dtypes.bfloat16)
F16 = np.dtype(np.float16)
F32 = np.dtype(np.float32)

UNITS = {F16: 2.0**-11, BF16: 2.0**-8, F32: 2.0**-24}
"""Half of a unit in the last place of 1, by type."""


@dataclass(frozen=True)
class Place:
    """Where an element of a matrix lies."""

    lanes: tuple[int, ...]
    """One, or all that must hold the same."""
    register: int
    part: int = 0


Owner = Callable[[int, int], Place]
"""The place of the element of a row and a column."""


@dataclass(frozen=True)
class Operand:
    """A matrix spread over the lanes of a wave."""

    rows: int
    columns: int
    dtype: np.dtype
    owner: Owner
    registers: int
    """Of a lane."""
    parts: int
    """Elements that a register has room for."""
    part: int | None = None
    """The only part that is used, where it is not the owner that says so."""

    @property
    def elements(self) -> int:
        """Elements of a lane's vector, used or not."""
        return self.registers * self.parts

    def places(self) -> Iterable[tuple[int, int, int, int]]:
        """Yield (row, column, lane, element of the lane's vector) of all copies of all elements."""
        for row in range(self.rows):
            for column in range(self.columns):
                place = self.owner(row, column)
                part = place.part if self.part is None else self.part
                for lane in place.lanes:
                    yield row, column, lane, self.parts * place.register + part

    def scatter(self, matrix: np.ndarray, lanes: int, filler: np.ndarray) -> np.ndarray:
        """Return the operand of each lane, [lanes, elements]."""
        spread = np.broadcast_to(filler, (lanes, self.elements)).astype(self.dtype)
        for row, column, lane, element in self.places():
            spread[lane, element] = matrix[row, column]
        return spread

    def gather(self, spread: np.ndarray) -> np.ndarray:
        """Return the matrix that the lanes hold."""
        matrix = np.zeros((self.rows, self.columns), self.dtype)
        for row, column, lane, element in self.places():
            matrix[row, column] = spread[lane, element]
        return matrix

    def unused(self, lanes: int) -> np.ndarray:
        """Return a mask, [lanes, elements], of what holds no element."""
        mask = np.ones((lanes, self.elements), bool)
        for _, _, lane, element in self.places():
            mask[lane, element] = False
        return mask

    def table(self, letter: str, lanes: int) -> str:
        """Return which lane holds which element."""
        held = {(lane, element): (row, column) for row, column, lane, element in self.places()}
        elements = len({element for _, element in held})
        names = sorted({element for _, element in held})
        return lane_table(
            lambda lane, index: held[lane, names[index]], self.rows, self.columns, lanes, elements, letter
        )


@dataclass(frozen=True)
class Instruction:
    """D = A · B + C by one wave; C and D are spread alike."""

    symbol: str
    lanes: int
    a: Operand
    b: Operand
    c: Operand
    more: tuple[Argument, ...] = ()
    source: str = field(default="", kw_only=True)
    """Of the tables."""

    @property
    def depth(self) -> int:
        """The number of products that are summed."""
        return self.a.columns

    def call(
        self,
        library: ModelLibrary,
        a: np.ndarray,
        b: np.ndarray,
        c: np.ndarray,
        *,
        active: int | None = None,
        filler: float = 7.0,
    ) -> Call:
        """Multiply matrices; the value is each lane's part of D, [lanes, elements]."""
        fill = np.asarray(filler)
        arguments: list[Argument] = [
            self.a.scatter(a, self.lanes, fill),
            self.b.scatter(b, self.lanes, fill),
            self.c.scatter(c, self.lanes, fill),
            *self.more,
        ]
        return self.call_spread(library, arguments, active=active)

    def call_spread(
        self, library: ModelLibrary, arguments: list[Argument], *, active: int | None = None
    ) -> Call:
        """Call the model with operands that are spread over the lanes already."""
        result = np.dtype((self.c.dtype, (self.c.elements,)))
        return library.call_collective(
            self.symbol, arguments, result, active=active, warp_size=self.lanes, count=self.lanes
        )

    def product(self, library: ModelLibrary, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        """Return D, which nothing must be reported about."""
        call = self.call(library, a, b, c)
        assert call.findings == ()
        return self.c.gather(call.value)


def first_result(library: ModelLibrary, instruction: Instruction, a: list, b: list, c: float = 0.0) -> float:
    """Return D[0][0] where the first row of A and the first column of B begin so, and all else is 0."""
    left = np.zeros((instruction.a.rows, instruction.a.columns))
    right = np.zeros((instruction.b.rows, instruction.b.columns))
    given = np.zeros((instruction.c.rows, instruction.c.columns))
    left[0, : len(a)], right[: len(b), 0], given[0, 0] = a, b, c
    return float(instruction.product(library, left, right, given)[0, 0])


def distinct(rows: int, columns: int, dtype: np.dtype) -> np.ndarray:
    """Return a matrix of different numbers: consecutive ones of the type, from 1."""
    numbers = np.arange(rows * columns).reshape(rows, columns)
    if dtype == F32:
        return (1 + numbers).astype(dtype)
    one = np.ones((), dtype).view(np.uint16)
    return (one + numbers).astype(np.uint16).view(dtype)


def check_operand_a(library: ModelLibrary, instruction: Instruction) -> None:
    """Read A back through selections of its columns as B."""
    a, size = instruction.a, instruction.c.columns
    expected = distinct(a.rows, a.columns, a.dtype)
    for first in range(0, a.columns, size):
        selection = np.eye(a.columns, size, -first)
        found = instruction.product(library, expected, selection, np.zeros((size, size)))
        columns = expected[:, first : first + size]
        _compare(instruction, "A", a, found[:, : columns.shape[1]], columns)


def check_operand_b(library: ModelLibrary, instruction: Instruction) -> None:
    """Read B back through selections of its rows as A."""
    b, size = instruction.b, instruction.c.rows
    expected = distinct(b.rows, b.columns, b.dtype)
    for first in range(0, b.rows, size):
        selection = np.eye(size, b.rows, first)
        found = instruction.product(library, selection, expected, np.zeros((size, size)))
        rows = expected[first : first + size]
        _compare(instruction, "B", b, found[: rows.shape[0]], rows)


def check_accumulator(library: ModelLibrary, instruction: Instruction) -> None:
    """Read C back as it is."""
    c = instruction.c
    expected = distinct(c.rows, c.columns, c.dtype)
    a = np.zeros((instruction.a.rows, instruction.depth))
    b = np.zeros((instruction.depth, instruction.b.columns))
    call = instruction.call(library, a, b, expected)
    assert call.findings == ()
    _compare(instruction, "C", c, c.gather(call.value), expected)
    arguments = c.scatter(expected, instruction.lanes, np.asarray(7.0))
    used = ~c.unused(instruction.lanes)
    assert np.array_equal(call.value[used], arguments[used]), "D lies elsewhere than C"


def check_product(library: ModelLibrary, instruction: Instruction) -> None:
    """Compare random products with NumPy's in double precision."""
    generator = np.random.default_rng(7)
    shapes = [(operand.rows, operand.columns) for operand in (instruction.a, instruction.b, instruction.c)]
    dtypes = [operand.dtype for operand in (instruction.a, instruction.b, instruction.c)]
    a, b, c = (
        generator.uniform(-1, 1, shape).astype(dtype) for shape, dtype in zip(shapes, dtypes, strict=True)
    )
    exact = a.astype(np.float64) @ b.astype(np.float64) + c.astype(np.float64)
    size = np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64)) + np.abs(c.astype(np.float64))
    found = instruction.product(library, a, b, c).astype(np.float64)
    allowed = size * instruction.depth * 2 * UNITS[F32] + np.abs(exact) * 2 * UNITS[instruction.c.dtype]
    assert np.all(np.abs(found - exact) <= allowed)


def _compare(
    instruction: Instruction, letter: str, operand: Operand, found: np.ndarray, expected: np.ndarray
) -> None:
    if np.array_equal(found.astype(np.float64), expected.astype(np.float64)):
        return
    row, column = np.argwhere(found.astype(np.float64) != expected.astype(np.float64))[0]
    raise AssertionError(
        f"{instruction.symbol}: {letter}[{row}][{column}] is {found[row, column]},"
        f" not {expected[row, column]}; lanes and elements of {letter} ({instruction.source}):\n"
        + operand.table(letter, instruction.lanes)
    )
