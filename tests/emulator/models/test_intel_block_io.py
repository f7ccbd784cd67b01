"""2-D blocks: which element each lane reads or writes, the edges of the surface, and the restrictions.

Sources: SPV_INTEL_2d_block_io, "Mapping Block Data to Invocations", for a sub-group of 16, and "Out-of-Bounds
Behavior"; cl_intel_subgroup_2d_block_io for names, shapes and restrictions.
"""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from intel_builtins import LANES, call_mangled
from model_calls import Call, Memory, ModelLibrary, address, aligned_zeros

from harness.emulator.models.intel.blocks import SHAPES, BlockShape, block_builtin

UNSIGNED = {16: np.uint16, 32: np.uint32}
CLAMPED_BLOCK_LOAD, CLAMPED_BLOCK_STORE = 2, 3
FILLER = 0x5A

BLOCKS = [(kind, shape) for kind, shapes in SHAPES.items() for shape in shapes]
READ, WRITE = BlockShape(16, 8, 16, 1), BlockShape(32, 8, 16, 1)

# ------------------------------------------------------------------ the tables


def held_by_lanes(kind: str, block: np.ndarray) -> np.ndarray:
    """Return the elements of a block that each lane holds: a column, or a row of what is transposed."""
    return block if kind == "read_transpose" else block.T


def owners(kind: str, shape: BlockShape) -> np.ndarray:
    """Return the number of the element in the blocks together, row by row, of each lane's elements."""
    columns = shape.columns * shape.blocks
    blocks = np.split(np.arange(shape.rows * columns).reshape(shape.rows, columns), shape.blocks, axis=1)
    return np.concatenate([held_by_lanes(kind, block) for block in blocks], axis=1)


@pytest.mark.parametrize(
    ("kind", "shape", "lane", "expected"),
    [
        # Examples in the extensions' words, (row, column) of a lane's elements.
        ("read", BlockShape(16, 2, 16, 1), 5, [(0, 5), (1, 5)]),
        ("read", BlockShape(16, 2, 16, 2), 5, [(0, 5), (1, 5), (0, 21), (1, 21)]),
        ("read_transform", BlockShape(16, 16, 16, 1), 5, [(row, 5) for row in range(16)]),
        ("read_transpose", BlockShape(32, 16, 8, 1), 5, [(5, column) for column in range(8)]),
        ("write", BlockShape(16, 2, 16, 1), 5, [(0, 5), (1, 5)]),
    ],
)
def test_the_tables_are_the_extensions(kind, shape, lane, expected):
    columns = shape.columns * shape.blocks
    assert [divmod(int(number), columns) for number in owners(kind, shape)[lane]] == expected


# ------------------------------------------------------------------ surfaces and calls


@dataclass(frozen=True)
class Surface:
    """A matrix in memory and the coordinate of a block in it."""

    width: int
    """In bytes, like the pitch."""
    height: int
    pitch: int
    x: int
    """In elements."""
    y: int


INSIDE = Surface(128, 16, 128, 0, 0)


def surface_around(shape: BlockShape) -> Surface:
    """Return a surface that holds a block and more on all sides."""
    width = 4 * max(shape.columns * shape.blocks * shape.bits // 8, 64)
    return Surface(width, 2 * shape.rows + 3, width + 48, 64 * 8 // shape.bits // 4, 2)


@st.composite
def blocks_at_edges(draw):
    """Draw surfaces by the extension's rules, with blocks at and beyond all edges."""
    kind, shape = draw(st.sampled_from(BLOCKS))
    size = shape.bits // 8
    width = draw(st.integers(16, 48)) * 4
    pitch = -(-width // 16) * 16 + 16 * draw(st.integers(0, 3))
    height = draw(st.integers(1, shape.rows + 4))
    multiple = max(4 // size, 1)
    x = draw(st.integers(-shape.columns * shape.blocks // multiple - 1, width // size // multiple + 1))
    y = draw(st.integers(-shape.rows - 1, height + 1))
    return kind, shape, Surface(width, height, pitch, x * multiple, y)


def memory_of(surface: Surface) -> np.ndarray:
    """Return random bytes [height, pitch]; the part beyond the width must never be seen."""
    memory = aligned_zeros((surface.height, surface.pitch), np.uint8)
    memory[...] = np.random.default_rng(0).integers(1, 256, memory.shape)
    return memory


def own_arrays(kind: str, shape: BlockShape) -> np.ndarray:
    """Return room for what each lane holds, filled with a pattern."""
    return np.full((LANES, owners(kind, shape).shape[1]), FILLER, UNSIGNED[shape.bits])


def call_block(
    intel: ModelLibrary,
    kind: str,
    shape: BlockShape,
    surface: Surface,
    memory: np.ndarray,
    own: np.ndarray | None = None,
    *,
    changed: dict[int, np.ndarray] | None = None,
    writable: bool = True,
    **options: int,
) -> Call:
    """Call the builtin; `changed` are arguments by their position, one for each lane."""
    own = own_arrays(kind, shape) if own is None else own
    arguments = [
        address(memory),
        *(np.int32(size) for size in (surface.width, surface.height, surface.pitch)),
        np.array([surface.x, surface.y], np.int32).tobytes(),
        *([np.array([address(own[lane]) for lane in range(LANES)])] if kind != "prefetch" else []),
    ]
    for position, values in (changed or {}).items():
        arguments[position] = values
    known = [Memory(memory, writable=writable), Memory(own)]
    return call_mangled(intel, block_builtin(kind, shape), arguments, memory=known, **options)


def check_block(intel: ModelLibrary, kind: str, shape: BlockShape, surface: Surface) -> None:
    """Compare memory and what lanes hold after a message with what they must be."""
    memory, own, size = memory_of(surface), own_arrays(kind, shape), shape.bits // 8
    if kind == "write":
        own[...] = np.random.default_rng(1).integers(0, np.iinfo(own.dtype).max, own.shape, own.dtype)
    matrix = np.ascontiguousarray(memory[:, : surface.width // size * size]).view(UNSIGNED[shape.bits])
    rows = np.arange(shape.rows)[:, None] + surface.y
    columns = np.arange(shape.columns * shape.blocks)[None, :] + surface.x
    inside = (rows >= 0) & (rows < matrix.shape[0]) & (columns >= 0) & (columns < matrix.shape[1])
    block = matrix[np.clip(rows, 0, matrix.shape[0] - 1), np.clip(columns, 0, matrix.shape[1] - 1)]
    numbers = owners(kind, shape)
    expected_memory, expected_own = memory.copy(), own.copy()
    if kind.startswith("read"):
        expected_own = np.where(inside, block, 0).ravel()[numbers]
    elif kind == "write":
        for (lane, element), number in np.ndenumerate(numbers):
            row, column = divmod(int(number), shape.columns)
            if inside[row, column]:
                start = (surface.x + column) * size
                value = own[lane, element : element + 1].view(np.uint8)
                expected_memory[surface.y + row, start : start + size] = value
    found = call_block(intel, kind, shape, surface, memory, own)
    table = f"numbers of the elements that each lane holds:\n{numbers}"
    np.testing.assert_array_equal(own, expected_own, table)
    np.testing.assert_array_equal(memory, expected_memory, table)
    clamped = CLAMPED_BLOCK_STORE if kind == "write" else CLAMPED_BLOCK_LOAD
    assert [event.detail for event in found.of_kind("clamped")] == [clamped] * int((~inside).sum())
    assert found.findings == ()


@pytest.mark.parametrize(("kind", "shape"), BLOCKS, ids=str)
def test_blocks_inside_and_across_corners(intel, kind, shape):
    around = surface_around(shape)
    step = max(32 // shape.bits, 1)
    columns = around.width * 8 // shape.bits
    last = columns - shape.columns * shape.blocks
    for x, y in ((around.x, 2), (-step, -1), (last // step * step + step, around.height - shape.rows + 1)):
        check_block(intel, kind, shape, replace(around, x=x, y=y))


@settings(max_examples=100)
@given(case=blocks_at_edges())
def test_blocks_at_all_edges(intel, case):
    check_block(intel, *case)


def test_coordinates_far_away_do_not_overflow(intel):
    for far in (-(2**31), 2**31 - 2):
        check_block(intel, "read", READ, Surface(128, 4, 128, far, far))


# ------------------------------------------------------------------ findings


@pytest.mark.parametrize("kind", ["read", "prefetch"])
@pytest.mark.parametrize(
    ("surface", "offset", "kinds"),
    [
        (INSIDE, 0, []),
        (INSIDE, 32, ["UNALIGNED"]),  # the base
        (replace(INSIDE, pitch=136), 0, ["UNALIGNED"]),
        (replace(INSIDE, width=126), 0, ["UNALIGNED"]),
        (replace(INSIDE, x=1), 0, ["UNALIGNED"]),
        (replace(INSIDE, x=-1), 0, ["UNALIGNED"]),
        (replace(INSIDE, x=2, y=3), 0, []),
        (replace(INSIDE, width=60), 0, ["UNSUPPORTED_OPERAND"]),
        (replace(INSIDE, width=64), 0, []),
        (replace(INSIDE, height=0), 0, ["UNSUPPORTED_OPERAND"]),
        (replace(INSIDE, height=2**24 + 1), 0, ["UNSUPPORTED_OPERAND"]),
        (replace(INSIDE, pitch=112), 0, ["UNSUPPORTED_OPERAND"]),
        (Surface(2**24 + 4, 1, 2**24 + 16, 0, 0), 0, ["UNSUPPORTED_OPERAND"]),
        (Surface(128, 65, 256, 0, 60), 0, ["OUT_OF_BOUNDS"]),
    ],
)
def test_restrictions(intel, kind, surface, offset, kinds):
    memory = aligned_zeros((64, 256), np.uint8)
    base = {0: np.repeat(address(memory, offset), LANES)}
    assert call_block(intel, kind, READ, surface, memory, changed=base).finding_kinds == kinds


@pytest.mark.parametrize(
    ("bits", "columns", "x", "kinds"),
    [(16, 16, 2, []), (16, 16, 3, ["UNALIGNED"]), (32, 16, 1, [])],
)
def test_a_row_begins_at_a_word(intel, bits, columns, x, kinds):
    surface = replace(INSIDE, x=x)
    found = call_block(intel, "read", BlockShape(bits, 8, columns, 1), surface, memory_of(surface))
    assert found.finding_kinds == kinds


@pytest.mark.parametrize(("kind", "shape"), [("read", READ), ("write", WRITE)])
def test_a_surface_beyond_its_buffer_is_not_clamped(intel, kind, shape):
    memory, own = memory_of(replace(INSIDE, height=8)), own_arrays(kind, shape)
    found = call_block(intel, kind, shape, replace(INSIDE, y=4), memory, own)
    assert found.finding_kinds == ["OUT_OF_BOUNDS"]
    assert len(found.findings) == 4  # rows
    assert found.of_kind("clamped") == []
    if kind == "read":
        assert (own[:, 4:] == 0).all()
        assert (own[:, :4] == memory.view(np.uint16)[4:8, :16].T).all()


def test_a_write_to_what_is_only_read(intel):
    memory = memory_of(INSIDE)
    before = memory.copy()
    assert call_block(intel, "write", WRITE, INSIDE, memory, writable=False).finding_kinds == ["READ_ONLY"]
    np.testing.assert_array_equal(memory, before)


@pytest.mark.parametrize("position", range(5))
def test_all_lanes_must_name_the_same_block(intel, position):
    memory = memory_of(INSIDE)
    same = [np.repeat(address(memory), LANES), *(np.repeat(np.int32(size), LANES) for size in (128, 16, 128))]
    values = [*same, np.zeros((LANES, 2), np.int32)][position]
    values[9] += 16 if position else np.uint64(64)
    found = call_block(intel, "read", READ, INSIDE, memory, changed={position: values})
    assert [(finding.kind, finding.lane) for finding in found.findings] == [("REPLICATION", 9)]


@pytest.mark.parametrize(
    "block",
    [
        BLOCKS[0],
        ("read_transform", SHAPES["read_transform"][0]),
        ("read_transpose", *SHAPES["read_transpose"]),
        ("write", WRITE),
        ("prefetch", READ),
    ],
    ids=str,
)
def test_all_sixteen_lanes_must_take_part(intel, block):
    surface = surface_around(block[1])
    for options in ({"active": 0xFFFE}, {"count": 15}):
        found = call_block(intel, *block, surface, memory_of(surface), **options)
        assert found.finding_kinds == ["DIVERGENT_COLLECTIVE"]


def test_another_sub_group_size_is_not_supported(intel):
    own = own_arrays("read", READ)
    found = call_block(intel, "read", READ, INSIDE, memory_of(INSIDE), own, warp_size=8)
    assert found.finding_kinds == ["UNSUPPORTED_OPERAND"]
    assert (own == FILLER).all()
