"""How threads share the copy of a tile that is transposed on its way to shared memory."""

import pytest

from harness.codegen.layouts.bank_conflicts import TileAccess, conflicts_of_accesses, least_conflicting_pitch
from harness.codegen.layouts.contiguous_accesses import contiguous_accesses
from harness.codegen.layouts.conversion import Conflict, convert
from harness.codegen.layouts.instructions.registry import instruction
from harness.codegen.layouts.layout import Level
from harness.codegen.layouts.shared_memory_model import Banks, SharedMemoryModel, consecutive_phases
from harness.codegen.layouts.warp_tiling import WarpTiling
from harness.system.errors import BuildError

BANKS = Banks(count=32, word_bytes=4, phases=consecutive_phases(64, pass_bytes=128))
LDS = SharedMemoryModel(reads=BANKS, writes=BANKS)
WAVES = WarpTiling(instruction("mfma.f32.32x32x8.f16.chained"), warps=4, shared_memory=LDS)
PITCH = 68
"""Of 64 keys and 4 elements of padding."""


def test_each_element_is_copied_by_one_lane() -> None:
    for layout in WAVES.transposing_copy(64, 64, 2, PITCH):
        assert layout.shape == (64, 64)
        assert layout.replicas == 1
        assert len(layout.owners) == 64 * 64


def test_a_lane_reads_runs_along_rows_and_writes_runs_along_columns() -> None:
    read, written = WAVES.transposing_copy(64, 64, 2, PITCH)
    assert {access.length for access in contiguous_accesses(read, 2)} == {4}
    assert {access.length for access in contiguous_accesses(written.transposed(), 2)} == {4}
    assert convert(read, written).conflict is Conflict.BATCH_AND_VECTOR


def test_lanes_that_write_together_write_to_different_banks() -> None:
    _, written = WAVES.transposing_copy(64, 64, 2, PITCH)
    assert conflicts_of_accesses(written.transposed(), PITCH, 2, BANKS) == 0


def test_what_the_product_reads_lies_in_different_banks_with_the_pitch_that_is_found() -> None:
    wanted = WAVES.right(64, 64)
    pitch = least_conflicting_pitch(
        lambda pitch: [
            TileAccess(layout, BANKS)
            for layout in (wanted, WAVES.transposing_copy(64, 64, 2, pitch)[1].transposed())
        ],
        columns=64,
        element_bytes=2,
        step_bytes=8,
    )
    assert pitch == PITCH
    assert conflicts_of_accesses(wanted, pitch, 2, BANKS) == 0
    assert conflicts_of_accesses(wanted, 64, 2, BANKS) > 0


def test_a_tile_that_blocks_do_not_divide_is_refused() -> None:
    assert not WAVES.can_transpose(64, 12)
    with pytest.raises(BuildError, match="256 threads cannot share a tile of 64×12 in blocks"):
        WAVES.transposing_copy(64, 12, 2, PITCH)


@pytest.mark.parametrize(("pitch", "rows_at_once"), [(136, 4), (132, 8)])
def test_lanes_share_a_copy_so_that_they_write_to_different_banks(pitch: int, rows_at_once: int) -> None:
    copy = WAVES.copy(64, 128, 2, pitch)
    assert [dim.size for dim in copy.dimensions(Level.LANE)] == [rows_at_once, 64 // rows_at_once]
    assert conflicts_of_accesses(copy, pitch, 2, BANKS) == 0
    assert copy.replicas == 1
    assert len(copy.owners) == 64 * 128
