"""Alignment that is claimed divides every lane's address, and is claimed where it is wanted."""

import pytest
from generated_layouts import POWERS_OF_TWO, layouts
from hypothesis import given
from hypothesis import strategies as st

from harness.codegen.layouts.alignment import BUFFER_ALIGNMENT, TileAlignment
from harness.codegen.layouts.contiguous_accesses import contiguous_accesses
from harness.codegen.layouts.instructions.registry import instruction
from harness.codegen.layouts.layout import Layout
from harness.codegen.layouts.warp_tiling import WarpTiling
from harness.emulator.launching import DeviceBuffer
from harness.targets.cuda.vendor import SHARED_MEMORY

TILING = WarpTiling(instruction("mma.sync.m16n8k16"), 4, SHARED_MEMORY)


@given(
    layouts(sizes=POWERS_OF_TWO) | layouts(),
    st.sampled_from([1, 2, 4]),
    st.tuples(st.integers(1, 40), st.integers(1, 3)),
    st.integers(0, 40),
    st.integers(0, 5),
)
def test_a_claimed_alignment_divides_the_address_in_every_lane(
    layout: Layout, element_bytes: int, pitches: tuple[int, int], first: int, factor: int
) -> None:
    rows, columns = (pitch * element_bytes for pitch in pitches)
    start = first * element_bytes
    alignment = TileAlignment(layout, (rows, columns), start)
    for access in contiguous_accesses(layout, element_bytes):
        claimed = alignment.of(access, element_bytes)
        assert claimed in (1, 2, 4, 8, 16)
        assert element_bytes <= claimed <= access.length * element_bytes
        places = layout.coordinate_table[:, :, access.fragment, access.register].reshape(-1, 2)
        for row, column in places.tolist():
            assert (factor * start + row * rows + column * columns) % claimed == 0


def claims(layout: Layout, pitch: int, element_bytes: int, first: int = BUFFER_ALIGNMENT) -> set[int]:
    """Return the alignments of a tile's accesses in rows of so many elements."""
    alignment = TileAlignment(layout, (pitch * element_bytes, element_bytes), first)
    return {alignment.of(access, element_bytes) for access in contiguous_accesses(layout, element_bytes)}


@pytest.mark.parametrize(
    ("pitch", "element_bytes", "claimed"),
    [(64, 2, 4), (333, 2, 2), (334, 2, 4), (64, 4, 8), (65, 4, 4), (66, 4, 8)],
)
def test_pairs_of_an_accumulator_are_aligned_where_rows_are(
    pitch: int, element_bytes: int, claimed: int
) -> None:
    assert claims(TILING.result(64, 64), pitch, element_bytes) == {claimed}


@pytest.mark.parametrize(("pitch", "claimed"), [(72, 16), (68, 8), (66, 4), (65, 2)])
def test_a_copy_is_aligned_as_its_rows_are(pitch: int, claimed: int) -> None:
    assert claims(TILING.copy(64, 64, 2), pitch, 2) == {claimed}


@pytest.mark.parametrize("size", [1, 66, 4096, 4098])
def test_buffers_of_the_emulator_begin_where_every_access_is_aligned(size: int) -> None:
    buffer = DeviceBuffer(size, "x")
    assert buffer.address % BUFFER_ALIGNMENT == 0
    buffer.free()
