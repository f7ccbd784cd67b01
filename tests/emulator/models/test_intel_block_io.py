"""2-D blocks: which element each lane reads or writes, the edges of the surface, and the restrictions.

Sources: SPV_INTEL_2d_block_io, "Mapping Block Data to Invocations", for a sub-group of 16, and "Out-of-Bounds
Behavior"; cl_intel_subgroup_2d_block_io for names, shapes and restrictions.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from intel_builtins import LANES, call_mangled
from model_calls import Call, Memory, ModelLibrary, address, aligned_zeros

from harness.emulator.models.intel.blocks import (
    PREFETCH_SHAPES,
    READ_SHAPES,
    TRANSFORM_SHAPES,
    TRANSPOSE_SHAPES,
    WRITE_SHAPES,
    BlockShape,
    own_array_types,
)

UNSIGNED = {8: np.uint8, 16: np.uint16, 32: np.uint32}
CLAMPED_BLOCK_LOAD, CLAMPED_BLOCK_STORE = 2, 3
POISON = -1

READS = [
    *(("read", shape) for shape in READ_SHAPES),
    *(("read_transform", shape) for shape in TRANSFORM_SHAPES),
    *(("read_transpose", shape) for shape in TRANSPOSE_SHAPES),
]
WRITES = [("write", shape) for shape in WRITE_SHAPES]

reads = pytest.mark.parametrize(("kind", "shape"), READS, ids=lambda value: str(value))
writes = pytest.mark.parametrize(("kind", "shape"), WRITES, ids=lambda value: str(value))


# ------------------------------------------------------------------ the tables


def held_by_lanes(kind: str, block: np.ndarray) -> np.ndarray:
    """Return the elements of one block [rows, columns] that each lane holds, [lanes, elements]."""
    rows, columns = block.shape
    if kind == "read_transpose":
        return block  # [rows = lanes, columns]
    if kind == "read_transform":
        return block.T  # packed by rows of one column, which follow one another
    if columns == LANES:
        return block.T
    if columns > LANES:  # each lane has neighbours of a row
        neighbours = columns // LANES
        return block.reshape(rows, LANES, neighbours).transpose(1, 0, 2).reshape(LANES, -1)
    together = LANES // columns  # rows that the lanes share
    missing = -rows % together
    padded = np.concatenate([block, np.full((missing, columns), POISON, block.dtype)])
    return padded.reshape(-1, LANES).T


def owners(kind: str, shape: BlockShape) -> np.ndarray:
    """Return the number of the element in the blocks together, row by row, of each lane's elements."""
    columns = shape.columns * shape.blocks
    numbers = np.arange(shape.rows * columns).reshape(shape.rows, columns)
    return np.concatenate(
        [held_by_lanes(kind, block) for block in np.split(numbers, shape.blocks, axis=1)], axis=1
    )


def layout_message(kind: str, shape: BlockShape) -> str:
    columns = shape.columns * shape.blocks
    lines = [
        f"{lane:2}: " + " ".join("-" if n == POISON else f"({n // columns},{n % columns})" for n in numbers)
        for lane, numbers in enumerate(owners(kind, shape))
    ]
    return "\n".join([f"(row, column) of the elements that each lane holds in {kind} {shape}:", *lines])


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


def surface_around(shape: BlockShape) -> Surface:
    """Return a surface that holds a block and more on all sides."""
    width = 4 * max(shape.columns * shape.blocks * shape.bits // 8, 64)
    return Surface(width, 2 * shape.rows + 3, width + 48, 64 * 8 // shape.bits // 4, 2)


@st.composite
def surfaces(draw: st.DrawFn, shape: BlockShape) -> Surface:
    """Draw surfaces by the extension's rules, with blocks at and beyond all edges."""
    size = shape.bits // 8
    width = draw(st.integers(16, 48)) * 4
    pitch = -(-width // 16) * 16 + 16 * draw(st.integers(0, 3))
    height = draw(st.integers(1, shape.rows + 4))
    x_multiple = max(4 // size, 1)
    block_width, columns = shape.columns * shape.blocks, width // size
    x = draw(st.integers(-block_width // x_multiple - 1, columns // x_multiple + 1)) * x_multiple
    y = draw(st.integers(-shape.rows - 1, height + 1))
    return Surface(width, height, pitch, x, y)


def memory_of(surface: Surface, seed: int = 0) -> np.ndarray:
    """Return random bytes [height, pitch]; the part beyond the width must never be seen."""
    memory = aligned_zeros((surface.height, surface.pitch), np.uint8)
    memory[...] = np.random.default_rng(seed).integers(1, 256, memory.shape)
    return memory


def block_of(shape: BlockShape, surface: Surface, memory: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the elements of the blocks side by side, 0 outside of the surface, and which are inside."""
    size = shape.bits // 8
    matrix = np.ascontiguousarray(memory[:, : surface.width // size * size]).view(UNSIGNED[shape.bits])
    rows = np.arange(shape.rows)[:, None] + surface.y
    columns = np.arange(shape.columns * shape.blocks)[None, :] + surface.x
    inside = (rows >= 0) & (rows < matrix.shape[0]) & (columns >= 0) & (columns < matrix.shape[1])
    found = matrix[np.clip(rows, 0, matrix.shape[0] - 1), np.clip(columns, 0, matrix.shape[1] - 1)]
    return np.where(inside, found, 0), inside


def block_name(kind: str, shape: BlockShape, own: str | None = None) -> str:
    name = f"intel_sub_group_2d_block_{kind}_{shape}"
    return f"_Z{len(name)}{name}PU3AS1viiiDv2_iP{own or own_array_types(kind, shape)[0]}"


def call_block(
    intel: ModelLibrary,
    kind: str,
    shape: BlockShape,
    surface: Surface,
    memory: np.ndarray,
    own: np.ndarray,
    base: np.generic | None = None,
    own_type: str | None = None,
    **options: int,
) -> Call:
    arguments = [
        address(memory) if base is None else base,
        np.int32(surface.width),
        np.int32(surface.height),
        np.int32(surface.pitch),
        np.array([surface.x, surface.y], np.int32).tobytes(),
        np.array([address(own[lane]) for lane in range(LANES)]),
    ]
    known = [Memory(memory), Memory(own)]
    return call_mangled(intel, block_name(kind, shape, own_type), arguments, memory=known, **options)


def own_arrays(kind: str, shape: BlockShape) -> np.ndarray:
    """Return room for what each lane holds, filled with a pattern."""
    return np.full((LANES, owners(kind, shape).shape[1]), 0x5A, UNSIGNED[shape.bits])


def check_read(intel: ModelLibrary, kind: str, shape: BlockShape, surface: Surface) -> Call:
    memory, own = memory_of(surface), own_arrays(kind, shape)
    before = memory.copy()
    block, inside = block_of(shape, surface, memory)
    numbers = owners(kind, shape)
    poison = np.iinfo(own.dtype).max
    expected = np.where(numbers == POISON, poison, block.ravel()[numbers])
    made = call_block(intel, kind, shape, surface, memory, own)
    np.testing.assert_array_equal(own, expected, layout_message(kind, shape))
    np.testing.assert_array_equal(memory, before)
    assert [event.detail for event in made.of_kind("clamped")] == [CLAMPED_BLOCK_LOAD] * int((~inside).sum())
    return made


def check_write(intel: ModelLibrary, kind: str, shape: BlockShape, surface: Surface) -> Call:
    memory, own = memory_of(surface), own_arrays(kind, shape)
    own[...] = np.random.default_rng(1).integers(0, np.iinfo(own.dtype).max, own.shape, own.dtype)
    size = shape.bits // 8
    _, inside = block_of(shape, surface, memory)
    expected = memory.copy()
    for lane, numbers in enumerate(owners(kind, shape)):
        for element, number in enumerate(numbers):
            row, column = divmod(int(number), shape.columns)
            if inside[row, column]:
                start = (surface.x + column) * size
                expected[surface.y + row, start : start + size] = own[lane, element : element + 1].view(
                    np.uint8
                )
    held = own.copy()
    made = call_block(intel, kind, shape, surface, memory, own)
    np.testing.assert_array_equal(memory, expected, layout_message(kind, shape))
    np.testing.assert_array_equal(own, held)
    assert [event.detail for event in made.of_kind("clamped")] == [CLAMPED_BLOCK_STORE] * int((~inside).sum())
    return made


# ------------------------------------------------------------------ layouts and edges


@reads
def test_reads_inside(intel: ModelLibrary, kind: str, shape: BlockShape) -> None:
    made = check_read(intel, kind, shape, surface_around(shape))
    assert made.findings == ()
    assert made.of_kind("clamped") == []


@writes
def test_writes_inside(intel: ModelLibrary, kind: str, shape: BlockShape) -> None:
    made = check_write(intel, kind, shape, surface_around(shape))
    assert made.findings == ()
    assert made.of_kind("clamped") == []


@pytest.mark.parametrize(
    ("kind", "shape", "lane", "expected"),
    [
        # Examples in the extensions' words, (row, column) of a lane's elements.
        ("read", BlockShape(16, 2, 16, 1), 5, [(0, 5), (1, 5)]),
        ("read", BlockShape(16, 2, 16, 2), 5, [(0, 5), (1, 5), (0, 21), (1, 21)]),
        ("read", BlockShape(8, 2, 32, 1), 5, [(0, 10), (0, 11), (1, 10), (1, 11)]),
        ("read", BlockShape(32, 4, 8, 1), 5, [(0, 5), (2, 5)]),
        ("read", BlockShape(32, 4, 8, 1), 13, [(1, 5), (3, 5)]),
        ("read", BlockShape(32, 2, 8, 2), 13, [(1, 5), (1, 13)]),
        ("read_transform", BlockShape(16, 16, 16, 1), 5, [(row, 5) for row in range(16)]),
        ("read_transpose", BlockShape(32, 16, 8, 1), 5, [(5, column) for column in range(8)]),
        ("write", BlockShape(8, 1, 32, 1), 5, [(0, 10), (0, 11)]),
    ],
)
def test_the_tables_are_the_extensions(
    kind: str, shape: BlockShape, lane: int, expected: list[tuple[int, int]]
) -> None:
    columns = shape.columns * shape.blocks
    assert [divmod(int(number), columns) for number in owners(kind, shape)[lane]] == expected


@reads
@settings(max_examples=6)
@given(data=st.data())
def test_reads_at_all_edges(intel: ModelLibrary, kind: str, shape: BlockShape, data: st.DataObject) -> None:
    assert check_read(intel, kind, shape, data.draw(surfaces(shape))).findings == ()


@writes
@settings(max_examples=6)
@given(data=st.data())
def test_writes_at_all_edges(intel: ModelLibrary, kind: str, shape: BlockShape, data: st.DataObject) -> None:
    assert check_write(intel, kind, shape, data.draw(surfaces(shape))).findings == ()


READ, WRITE = BlockShape(16, 8, 16, 1), BlockShape(32, 8, 16, 1)


def corners(shape: BlockShape) -> Iterator[tuple[int, int]]:
    """Yield coordinates at and one step beyond the edges of a surface of 64 columns and 16 rows."""
    step = max(32 // shape.bits, 1)
    for x in (-step, 0, 64 - shape.columns, 64 - shape.columns + step):
        for y in (-1, 0, 16 - shape.rows, 16 - shape.rows + 1):
            yield x, y


@pytest.mark.parametrize(("x", "y"), list(corners(READ)))
def test_reads_one_step_over_each_edge(intel: ModelLibrary, x: int, y: int) -> None:
    assert check_read(intel, "read", READ, Surface(128, 16, 144, x, y)).findings == ()


@pytest.mark.parametrize(("x", "y"), list(corners(WRITE)))
def test_writes_one_step_over_each_edge(intel: ModelLibrary, x: int, y: int) -> None:
    assert check_write(intel, "write", WRITE, Surface(256, 16, 272, x, y)).findings == ()


def test_coordinates_far_away_do_not_overflow(intel: ModelLibrary) -> None:
    for far in (-(2**31), 2**31 - 2):
        assert check_read(intel, "read", READ, Surface(128, 4, 128, far, far)).findings == ()


SPELLED_TWICE = [(kind, shape) for kind, shape in READS + WRITES if len(own_array_types(kind, shape)) > 1]


@pytest.mark.parametrize(("kind", "shape"), SPELLED_TWICE, ids=str)
def test_all_spellings_are_one(intel: ModelLibrary, kind: str, shape: BlockShape) -> None:
    surface = surface_around(shape)
    seen = set()
    for own_type in own_array_types(kind, shape):
        memory, own = memory_of(surface), own_arrays(kind, shape)
        call_block(intel, kind, shape, surface, memory, own, own_type=own_type)
        seen.add((memory.tobytes(), own.tobytes()))
    assert len(seen) == 1


# ------------------------------------------------------------------ findings

INSIDE = Surface(128, 16, 128, 0, 0)


@pytest.mark.parametrize(
    ("surface", "offset", "kinds"),
    [
        (INSIDE, 0, []),
        (INSIDE, 32, ["UNALIGNED"]),  # the base
        (Surface(128, 16, 136, 0, 0), 0, ["UNALIGNED"]),
        (Surface(126, 16, 128, 0, 0), 0, ["UNALIGNED"]),
        (Surface(128, 16, 128, 1, 0), 0, ["UNALIGNED"]),
        (Surface(128, 16, 128, -1, 0), 0, ["UNALIGNED"]),
        (Surface(128, 16, 128, 2, 3), 0, []),
        (Surface(60, 16, 128, 0, 0), 0, ["UNSUPPORTED_OPERAND"]),
        (Surface(64, 16, 128, 0, 0), 0, []),
        (Surface(128, 0, 128, 0, 0), 0, ["UNSUPPORTED_OPERAND"]),
        (Surface(128, 2**24 + 1, 128, 0, 0), 0, ["UNSUPPORTED_OPERAND"]),
        (Surface(128, 16, 112, 0, 0), 0, ["UNSUPPORTED_OPERAND"]),
        (Surface(2**24 + 4, 1, 2**24 + 16, 0, 0), 0, ["UNSUPPORTED_OPERAND"]),
    ],
)
def test_restrictions(intel: ModelLibrary, surface: Surface, offset: int, kinds: list[str]) -> None:
    memory = aligned_zeros((64, 256), np.uint8)
    own = own_arrays("read", READ)
    made = call_block(intel, "read", READ, surface, memory, own, base=address(memory, offset))
    assert made.finding_kinds == kinds


@pytest.mark.parametrize(
    ("bits", "columns", "x", "kinds"),
    [
        (8, 32, 4, []),
        (8, 32, 2, ["UNALIGNED"]),
        (16, 16, 2, []),
        (16, 16, 3, ["UNALIGNED"]),
        (32, 16, 1, []),
    ],
)
def test_where_a_row_may_begin(
    intel: ModelLibrary, bits: int, columns: int, x: int, kinds: list[str]
) -> None:
    shape = BlockShape(bits, 8, columns, 1)
    surface = Surface(128, 16, 128, x, 0)
    made = call_block(intel, "read", shape, surface, memory_of(surface), own_arrays("read", shape))
    assert made.finding_kinds == kinds


@pytest.mark.parametrize(("kind", "shape"), [("read", READ), ("write", WRITE)])
def test_a_surface_beyond_its_buffer(intel: ModelLibrary, kind: str, shape: BlockShape) -> None:
    """The surface claims more rows than there are: no clamping, and no access either."""
    surface = Surface(128, 16, 128, 0, 4)
    memory, own = memory_of(Surface(128, 8, 128, 0, 0)), own_arrays(kind, shape)
    made = call_block(intel, kind, shape, surface, memory, own)
    assert made.finding_kinds == ["OUT_OF_BOUNDS"]
    assert len(made.findings) == 4  # rows
    assert made.of_kind("clamped") == []
    if kind == "read":
        assert (own[:, 4:] == 0).all()
        assert (own[:, :4] == memory.view(np.uint16)[4:8, :16].T).all()


def test_a_write_to_what_is_only_read(intel: ModelLibrary) -> None:
    memory, own = memory_of(INSIDE), own_arrays("write", WRITE)
    before = memory.copy()
    arguments = [
        *(address(memory), np.int32(128), np.int32(16), np.int32(128), np.zeros(2, np.int32).tobytes()),
        np.array([address(own[lane]) for lane in range(LANES)]),
    ]
    known = [Memory(memory, writable=False), Memory(own)]
    made = call_mangled(intel, block_name("write", WRITE), arguments, memory=known)
    assert made.finding_kinds == ["READ_ONLY"]
    np.testing.assert_array_equal(memory, before)


def test_all_lanes_must_name_the_same_block(intel: ModelLibrary) -> None:
    memory, own = memory_of(INSIDE), own_arrays("read", READ)
    bases = np.repeat(address(memory), LANES)
    own_addresses = np.array([address(own[lane]) for lane in range(LANES)])
    known = [Memory(memory), Memory(own)]
    sizes = [np.int32(128), np.int32(16), np.int32(128)]
    coordinates = np.zeros((LANES, 2), np.int32)
    coordinates[9, 1] = 1
    arguments = [bases, *sizes, coordinates, own_addresses]
    made = call_mangled(intel, block_name("read", READ), arguments, memory=known)
    assert [(finding.kind, finding.lane) for finding in made.findings] == [("REPLICATION", 9)]
    for position, changed in enumerate([bases + 64, *(np.repeat(size, LANES) + 16 for size in sizes)]):
        arguments = [bases, *sizes, np.zeros(2, np.int32).tobytes(), own_addresses]
        changed[:15] = arguments[position] if position else bases[:15]
        arguments[position] = changed
        made = call_mangled(intel, block_name("read", READ), arguments, memory=known)
        assert [(finding.kind, finding.lane) for finding in made.findings] == [("REPLICATION", 15)]


@pytest.mark.parametrize("kind_and_shape", [READS[0], READS[-1], READS[-2], WRITES[0]], ids=str)
def test_all_sixteen_lanes_must_take_part(
    intel: ModelLibrary, kind_and_shape: tuple[str, BlockShape]
) -> None:
    kind, shape = kind_and_shape
    surface = surface_around(shape)
    memory = memory_of(surface)
    made = call_block(intel, kind, shape, surface, memory, own_arrays(kind, shape), active=0xFFFE)
    assert made.finding_kinds == ["DIVERGENT_COLLECTIVE"]
    made = call_block(intel, kind, shape, surface, memory, own_arrays(kind, shape), count=15)
    assert made.finding_kinds == ["DIVERGENT_COLLECTIVE"]


def test_another_sub_group_size_is_not_supported(intel: ModelLibrary) -> None:
    memory, own = memory_of(INSIDE), own_arrays("read", READ)
    made = call_block(intel, "read", READ, INSIDE, memory, own, warp_size=8)
    assert made.finding_kinds == ["UNSUPPORTED_OPERAND"]
    assert (own == 0x5A).all()


# ------------------------------------------------------------------ prefetches


def call_prefetch(
    intel: ModelLibrary, shape: BlockShape, surface: Surface, memory: np.ndarray, offset: int = 0, **options
) -> Call:
    name = f"intel_sub_group_2d_block_prefetch_{shape}"
    arguments = [
        address(memory, offset),
        np.int32(surface.width),
        np.int32(surface.height),
        np.int32(surface.pitch),
        np.array([surface.x, surface.y], np.int32).tobytes(),
    ]
    return call_mangled(
        intel, f"_Z{len(name)}{name}PU3AS1viiiDv2_i", arguments, memory=[Memory(memory)], **options
    )


@pytest.mark.parametrize("shape", PREFETCH_SHAPES, ids=str)
@settings(max_examples=6)
@given(data=st.data())
def test_a_prefetch_is_clamped_as_a_read_is(
    intel: ModelLibrary, shape: BlockShape, data: st.DataObject
) -> None:
    surface = data.draw(surfaces(shape))
    memory = memory_of(surface)
    _, inside = block_of(shape, surface, memory)
    made = call_prefetch(intel, shape, surface, memory)
    assert made.findings == ()
    assert [event.detail for event in made.of_kind("clamped")] == [CLAMPED_BLOCK_LOAD] * int((~inside).sum())


@pytest.mark.parametrize(
    ("surface", "offset", "kinds"),
    [
        (INSIDE, 0, []),
        (INSIDE, 32, ["UNALIGNED"]),
        (Surface(128, 16, 136, 0, 0), 0, ["UNALIGNED"]),
        (Surface(60, 16, 128, 0, 0), 0, ["UNSUPPORTED_OPERAND"]),
        (Surface(128, 65, 256, 0, 60), 0, ["OUT_OF_BOUNDS"]),
    ],
)
def test_a_prefetch_has_the_restrictions_of_a_read(
    intel: ModelLibrary, surface: Surface, offset: int, kinds: list[str]
) -> None:
    memory = aligned_zeros((64, 256), np.uint8)
    assert call_prefetch(intel, READ, surface, memory, offset).finding_kinds == kinds


def test_all_sixteen_lanes_must_prefetch(intel: ModelLibrary) -> None:
    made = call_prefetch(intel, READ, INSIDE, memory_of(INSIDE), active=0xFFFE)
    assert made.finding_kinds == ["DIVERGENT_COLLECTIVE"]
