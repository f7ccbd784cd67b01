"""NVIDIA's ldmatrix, stmatrix and movmatrix (PTX ISA 9.2, sections 9.7.14.5.15 to 9.7.14.5.17)."""

import numpy as np
import pytest
from fragment_tables import Placement, assert_placement
from model_calls import Call, Memory, ModelLibrary, address, aligned_zeros

LANES, SIDE = 32, 8


def by_rows(lane: int, i: int) -> tuple[int, int]:
    """A group of four threads holds a row, two elements each: the ISA's figure of a 16-bit 8×8 fragment."""
    return lane // 4, 2 * (lane % 4) + i


def by_columns(lane: int, i: int) -> tuple[int, int]:
    """With `.trans` a group of four threads holds a column."""
    return 2 * (lane % 4) + i, lane // 4


PLACEMENTS: dict[str, Placement] = {"": by_rows, "_trans": by_columns}
each_form = pytest.mark.parametrize("form", PLACEMENTS)
each_count = pytest.mark.parametrize("count", [1, 2, 4])


class Tile:
    """Matrices in shared memory, whose rows lie in a random order."""

    def __init__(self, count: int) -> None:
        self.room = aligned_zeros((64, SIDE), np.uint16)
        self.memory = [Memory(self.room, shared=True)]
        self.places = np.random.default_rng(count).permutation(64)[: SIDE * count].reshape(count, SIDE)
        """The row of `room` at which each row of each matrix lies."""
        self.addresses = np.zeros(LANES, np.uint64)
        """What lanes pass: those that have no row pass 0, which must not be read."""
        for lane, place in enumerate(self.places.ravel()):
            self.addresses[lane] = address(self.room, int(place) * SIDE * 2)

    @property
    def matrices(self) -> np.ndarray:
        """The matrices, [count, 8, 8]."""
        return self.room[self.places]


def load(library: ModelLibrary, tile: Tile, count: int, form: str = "", active: int | None = None) -> Call:
    """Load matrices; the result is [lanes, matrices, 2]."""
    result = np.dtype((np.uint16, (count, 2)))
    symbol = f"nvvm_ldmatrix_x{count}{form}"
    return library.call_collective(symbol, [tile.addresses], result, memory=tile.memory, active=active)


@each_form
@each_count
def test_a_load_places_every_element(nvidia: ModelLibrary, count: int, form: str) -> None:
    tile = Tile(count)
    numbers = np.arange(count * SIDE * SIDE, dtype=np.uint16).reshape(count, SIDE, SIDE)
    tile.room[tile.places] = numbers
    call = load(nvidia, tile, count, form)
    for matrix in range(count):
        held = call.value[:, matrix].astype(int) - SIDE * SIDE * matrix
        found = {(lane, i): divmod(int(held[lane, i]), SIDE) for lane in range(LANES) for i in range(2)}
        assert set(found.values()) <= {(row, column) for row in range(SIDE) for column in range(SIDE)}
        assert_placement(found, PLACEMENTS[form], rows=SIDE, columns=SIDE, lanes=LANES, elements=2)
    assert call.findings == ()
    loads = [event for event in call.of_kind("access") if event.detail == 0]
    assert len(loads) == len(call.of_kind("access")) == SIDE * count
    assert {event.bytes for event in loads} == {16}


@each_form
@each_count
def test_a_store_places_every_element(nvidia: ModelLibrary, count: int, form: str) -> None:
    tile = Tile(count)
    held = np.arange(count * LANES * 2, dtype=np.uint16).reshape(LANES, count, 2)
    arguments = [tile.addresses, *(held[:, matrix].copy() for matrix in range(count))]
    call = nvidia.call_collective(f"nvvm_stmatrix_x{count}{form}", arguments, memory=tile.memory)
    for matrix in range(count):
        found = {}
        for (row, column), number in np.ndenumerate(tile.matrices[matrix]):
            lane, rest = divmod(int(number), 2 * count)
            assert rest // 2 == matrix
            found[lane, rest % 2] = (row, column)
        assert_placement(found, PLACEMENTS[form], rows=SIDE, columns=SIDE, lanes=LANES, elements=2)
    others = np.setdiff1d(np.arange(64), tile.places)
    assert not tile.room[others].any()
    assert call.findings == ()
    assert {event.detail for event in call.of_kind("access")} == {1}


def test_a_move_transposes(nvidia: ModelLibrary) -> None:
    matrix = np.arange(SIDE * SIDE, dtype=np.uint16).reshape(SIDE, SIDE)
    held = np.array([[matrix[by_rows(lane, i)] for i in range(2)] for lane in range(LANES)])
    call = nvidia.call_collective("nvvm_movmatrix_trans", [held], np.dtype((np.uint16, 2)))
    expected = [[matrix[by_columns(lane, i)] for i in range(2)] for lane in range(LANES)]
    np.testing.assert_array_equal(call.value, expected)


def test_an_unaligned_row_is_found(nvidia: ModelLibrary) -> None:
    tile = Tile(2)
    tile.addresses[11] += 8
    call = load(nvidia, tile, 2)
    assert [(finding.kind, finding.lane) for finding in call.findings] == [("UNALIGNED", 11)]
    assert (call.value[12:16, 1] == 0xFFFF).all(), "what the row would have held is poison"
    assert not (call.value[:12] == 0xFFFF).any()


def test_a_row_in_global_memory_is_found(nvidia: ModelLibrary) -> None:
    tile, buffer = Tile(1), aligned_zeros(8, np.uint16)
    tile.memory.append(Memory(buffer))
    tile.addresses[3] = address(buffer)
    call = load(nvidia, tile, 1)
    assert [(finding.kind, finding.lane) for finding in call.findings] == [("SHARED_OUT_OF_BOUNDS", 3)]


def test_a_store_past_shared_memory_is_dropped(nvidia: ModelLibrary) -> None:
    tile = Tile(1)
    tile.memory = [Memory(tile.room.reshape(-1)[: 60 * SIDE + 4], shared=True)]
    tile.addresses[:SIDE] = [address(tile.room, (60 - lane) * SIDE * 2) for lane in range(SIDE)]
    held = np.ones((LANES, 2), np.uint16)
    call = nvidia.call_collective("nvvm_stmatrix_x1", [tile.addresses, held], memory=tile.memory)
    assert [(finding.kind, finding.lane) for finding in call.findings] == [("SHARED_OUT_OF_BOUNDS", 0)]
    assert tile.room[53:60].all()
    assert not tile.room[60].any()


@pytest.mark.parametrize("symbol", ["nvvm_ldmatrix_x1", "nvvm_stmatrix_x1", "nvvm_movmatrix_trans"])
def test_the_whole_warp_is_needed(nvidia: ModelLibrary, symbol: str) -> None:
    tile = Tile(1)
    arguments = [tile.addresses, np.uint32(0)]
    call = nvidia.call_collective(symbol, arguments, np.uint32, memory=tile.memory, active=0xFFFF)
    assert call.finding_kinds == ["DIVERGENT_COLLECTIVE"]
    assert call.of_kind("access") == []
