"""Builtins that a sub-group reads and writes blocks of memory with."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from harness.emulator.models.intel.mangling import INTEGER_SIZES, vector
from harness.emulator.models.model import Model, collective, nothing


@dataclass(frozen=True)
class BlockShape:
    """A shape that 2-D block builtins exist for, as their names spell it."""

    bits: int
    """Of an element."""
    rows: int
    columns: int
    """Of one block in memory."""
    blocks: int
    """Side by side."""

    def __str__(self) -> str:
        return f"{self.bits}b_{self.rows}r{self.columns}x{self.blocks}c"


def shapes(bits: int, rows: Iterable[int], columns: int, blocks: Iterable[int]) -> list[BlockShape]:
    """Return the shapes of all combinations of numbers of rows and of blocks."""
    counts = tuple(blocks)
    return [BlockShape(bits, row_count, columns, count) for row_count in rows for count in counts]


# The shapes of cl_intel_subgroup_2d_block_io 1.1.

READ_SHAPES = [
    *shapes(8, (1, 2, 4, 8, 16, 32), 32, (1, 2)),
    *shapes(8, (8, 16, 32), 16, (4,)),
    *shapes(16, (1, 2, 4, 8, 16, 32), 16, (1, 2)),
    *shapes(32, (1, 2, 4, 8, 16, 32), 8, (1, 2)),
    *shapes(32, (1, 2, 4, 8, 16, 32), 16, (1,)),
]

TRANSFORM_SHAPES = [*shapes(8, (32,), 16, (1, 2, 4)), *shapes(16, (16, 32), 16, (1, 2))]

TRANSPOSE_SHAPES = shapes(32, (16,), 8, (1,))
"""32 rows exist as well and are not modelled: SPV_INTEL_2d_block_io gives lane l two neighbouring rows, while
the hardware's registers hold rows l and l + 16 there, which is what Intel's CUTLASS expects."""

WRITE_SHAPES = [
    *shapes(8, (1, 2, 4, 8), 16, (1,)),
    *shapes(8, (1, 2, 4, 8), 32, (1,)),
    *shapes(16, (1, 2, 4, 8), 16, (1,)),
    *shapes(32, (1, 2, 4, 8), 16, (1,)),
]

PREFETCH_SHAPES = [*READ_SHAPES, *shapes(8, (32,), 16, (1, 2))]

_SURFACE = "PU3AS1viiiDv2_i"
"""Types of base address, width, height, pitch and coordinate."""

_UNSIGNED = {8: "h", 16: "t", 32: "j"}


def own_array_types(kind: str, shape: BlockShape) -> tuple[str, ...]:
    """Return the element types that the lane's own array may have in names.

    Packed values are uint.  Of rows of 32 bytes each lane holds two neighbours: the extension has them as one
    ushort, MLIR's lowering as two uchar.
    """
    if kind == "read_transform":
        return ("j",)
    return ("t", "h") if (shape.bits, shape.columns) == (8, 32) else (_UNSIGNED[shape.bits],)


def _builtin(kind: str, shape: BlockShape, own: str = "") -> str:
    return _named(f"intel_sub_group_2d_block_{kind}_{shape}", _SURFACE + own)


def two_dimensional() -> Iterator[tuple[str, Model]]:
    """Yield the 2-D block builtins with their models."""
    families = {
        "read": READ_SHAPES,
        "read_transform": TRANSFORM_SHAPES,
        "read_transpose": TRANSPOSE_SHAPES,
        "write": WRITE_SHAPES,
    }
    for kind, family in families.items():
        for shape in family:
            for own in own_array_types(kind, shape):
                yield _builtin(kind, shape, f"P{own}"), _model(kind, shape)
    for shape in PREFETCH_SHAPES:
        yield _builtin("prefetch", shape), _model("prefetch", shape)


def _model(kind: str, shape: BlockShape) -> Model:
    return collective(f"intel_2d_block_{kind}", shape.bits // 8, shape.rows, shape.columns, shape.blocks)


COMPONENTS = {"h": (1, 2, 4, 8, 16), "t": (1, 2, 4, 8, 16), "j": (1, 2, 4, 8), "m": (1, 2, 4, 8)}
"""Elements per lane of the 1-D block builtins, by the letter of the element's type: cl_intel_subgroups and
its _char, _short, _long."""

_SUFFIXES = {"h": "_uc", "t": "_us", "j": "_ui", "m": "_ul"}

GLOBAL, LOCAL = 1, 3
"""Address spaces."""


def required_alignment(action: str, element: str, space: int) -> int:
    """Return the bytes that an address must be a multiple of.

    cl_intel_subgroups and cl_intel_subgroup_local_block_io: 4 for reads of global memory, 16 otherwise;
    nothing is said of ulong reads, which need what a ulong needs.
    """
    return max(4, INTEGER_SIZES[element]) if (action, space) == ("read", GLOBAL) else 16


def one_dimensional() -> Iterator[tuple[str, Model]]:
    """Yield the 1-D block builtins with their models."""
    for element, counts in COMPONENTS.items():
        for count in counts:
            endings = [f"{_SUFFIXES[element]}{count if count > 1 else ''}"]
            if element == "j":
                endings.append(str(count) if count > 1 else "")
            for ending in endings:
                for space in (GLOBAL, LOCAL):
                    yield from _reads_and_writes(ending, element, count, space)
            yield _named(f"intel_sub_group_block_prefetch{endings[0]}", f"PU3AS1K{element}"), nothing()


def _reads_and_writes(ending: str, element: str, count: int, space: int) -> Iterator[tuple[str, Model]]:
    def model(action: str) -> Model:
        alignment = required_alignment(action, element, space)
        return collective(f"intel_sub_group_block_{action}", INTEGER_SIZES[element], count, alignment)

    pointer = f"PU3AS{space}{element}"
    read, write = f"intel_sub_group_block_read{ending}", f"intel_sub_group_block_write{ending}"
    yield _named(read, f"PU3AS{space}K{element}"), model("read")
    yield _named(read, pointer), model("read")  # MLIR's spelling
    yield _named(write, pointer + vector(element, count)), model("write")


def _named(name: str, types: str) -> str:
    return f"_Z{len(name)}{name}{types}"
