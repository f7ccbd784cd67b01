"""Models that access memory: NVIDIA's ldmatrix and cp.async, AMD's reads of LDS and loads to it.

Sources: PTX ISA 9.2, sections 9.7.14.5.15 and 9.7.9; AMD Instinct CDNA4 ISA, section 11.4,
DS_READ_B64_TR_B16; AMD Instinct MI300 ISA, buffer loads to LDS (the address in LDS is that of the wave plus
the offset plus the lane times the size).
"""

import numpy as np
import pytest
from model_calls import Memory, address, aligned_zeros


def kinds_and_lanes(call) -> list[tuple[str, int]]:
    return [(finding.kind, finding.lane) for finding in call.findings]


# ------------------------------------------------------------------ ldmatrix

SIDE = 8


def in_fragments(matrices: np.ndarray, form: str) -> np.ndarray:
    """Return what lanes hold, [lanes, matrices, 2]: four lanes have a row, with `.trans` a column."""
    lines = matrices if not form else matrices.transpose(0, 2, 1)
    return lines.reshape(len(matrices), 32, 2).transpose(1, 0, 2)


class Tile:
    """Matrices in shared memory, whose rows lie in a random order."""

    def __init__(self, count: int) -> None:
        self.room = aligned_zeros((64, SIDE), np.uint16)
        self.memory = [Memory(self.room, shared=True)]
        self.places = np.random.default_rng(count).permutation(64)[: SIDE * count].reshape(count, SIDE)
        """The row of `room` at which each row of each matrix lies."""
        self.addresses = np.zeros(32, np.uint64)
        """What lanes pass: those that have no row pass 0, which must not be read."""
        for lane, place in enumerate(self.places.ravel()):
            self.addresses[lane] = address(self.room, int(place) * SIDE * 2)

    def load(self, nvidia, count: int, form: str = "", **options):
        """Load matrices; the result is [lanes, matrices, 2]."""
        result = np.dtype((np.uint16, (count, 2)))
        symbol = f"nvvm_ldmatrix_x{count}{form}"
        return nvidia.call_collective(symbol, [self.addresses], result, memory=self.memory, **options)


@pytest.mark.parametrize("form", ["", "_trans"])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_ldmatrix_places_every_element(nvidia, count, form):
    tile = Tile(count)
    numbers = np.arange(count * 64, dtype=np.uint16).reshape(count, SIDE, SIDE)
    tile.room[tile.places] = numbers
    call = tile.load(nvidia, count, form)
    np.testing.assert_array_equal(call.value, in_fragments(numbers, form))
    assert call.findings == ()
    accesses = call.of_kind("access")
    assert [(event.detail, event.bytes) for event in accesses] == [(0, 16)] * SIDE * count


def test_rows_of_matrices_that_cannot_be_read_are_poison(nvidia):
    tile, buffer = Tile(2), aligned_zeros(8, np.uint16)
    tile.memory.append(Memory(buffer))
    tile.addresses[11] += 8
    tile.addresses[3] = address(buffer)
    call = tile.load(nvidia, 2)
    assert sorted(kinds_and_lanes(call)) == [("SHARED_OUT_OF_BOUNDS", 3), ("UNALIGNED", 11)]
    poison = np.argwhere((call.value == 0xFFFF).all(axis=2)).tolist()
    assert sorted(poison) == sorted(
        [[lane, 0] for lane in range(12, 16)] + [[lane, 1] for lane in range(12, 16)]
    )


def test_ldmatrix_needs_the_whole_warp(nvidia):
    call = Tile(1).load(nvidia, 1, active=0xFFFF)
    assert call.finding_kinds == ["DIVERGENT_COLLECTIVE"]
    assert call.of_kind("access") == []


# ------------------------------------------------------------------ cp.async


@pytest.fixture
def ends() -> tuple[np.ndarray, np.ndarray]:
    """Global and shared memory."""
    return aligned_zeros(64, np.uint8), aligned_zeros(64, np.uint8)


def start(nvidia, ends, size, source_bytes=None, *, source_at=0, destination_at=0):
    """Start a copy of `size` bytes by lane 5, of which `source_bytes` are read."""
    buffer, shared = ends
    arguments = [address(shared, destination_at), address(buffer, source_at)]
    memory = [Memory(buffer, writable=False), Memory(shared, shared=True)]
    suffix, count = ("", []) if source_bytes is None else ("_s", [np.uint32(source_bytes)])
    return nvidia.call_lane(f"nvvm_cp_async_{size}{suffix}", [*arguments, *count], lane=5, memory=memory)


@pytest.mark.parametrize(
    ("size", "read"), [(4, None), (8, None), (16, None), (16, 16), (16, 10), (8, 3), (4, 1), (16, 0)]
)
def test_a_copy_is_started(nvidia, ends, size, read):
    buffer, shared = ends
    source_at = 1 << 20 if read == 0 else 64 - size  # what is not read may be anywhere
    call = start(nvidia, ends, size, read, source_at=source_at, destination_at=2 * size)
    source, destination = address(buffer, source_at), address(shared, 2 * size)
    count = size if read is None else read
    (started,) = call.of_kind("start_copy")
    assert (started.lane, started.bytes, started.source_bytes) == (5, size, count)
    assert (started.address, started.source) == (destination, source)
    accesses = [(event.address, event.bytes, event.detail) for event in call.of_kind("access")]
    assert accesses == [*([(source, count, 0)] if count else []), (destination, size, 1)]
    assert call.findings == ()
    assert not shared.any(), "the model itself copies nothing"


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ({"size": 16, "source_at": 8}, "UNALIGNED"),
        ({"size": 16, "destination_at": 8}, "UNALIGNED"),
        ({"size": 4, "source_at": 2}, "UNALIGNED"),
        ({"size": 8, "source_bytes": 9}, "UNSUPPORTED_OPERAND"),
        ({"size": 16, "destination_at": 64}, "SHARED_OUT_OF_BOUNDS"),
    ],
)
def test_a_mistake_is_found_and_nothing_started(nvidia, ends, arguments, kind):
    call = start(nvidia, ends, **arguments)
    assert call.finding_kinds == [kind]
    assert call.of_kind("start_copy") == []


def test_the_ends_of_a_copy_must_lie_in_their_memories(nvidia, ends):
    buffer, shared = ends
    assert start(nvidia, ends, 16, 16, source_at=64).finding_kinds == ["OUT_OF_BOUNDS"]
    memory = [Memory(buffer), Memory(shared, shared=True)]
    for destination, source, kind in (
        (address(buffer), address(shared), "SHARED_OUT_OF_BOUNDS"),
        (address(shared), address(shared, 16), "OUT_OF_BOUNDS"),
    ):
        assert nvidia.call_lane("nvvm_cp_async_16", [destination, source], memory=memory).finding_kinds == [
            kind
        ]


@pytest.mark.parametrize(
    ("symbol", "operands", "event"),
    [
        ("commit_group", [], ("commit_copies", 7, 0)),
        ("wait_group", [np.int32(3)], ("wait_for_copies", 7, 3)),
        ("wait_all", [], ("wait_for_all_copies", 7, 0)),
    ],
)
def test_groups_of_copies(nvidia, symbol, operands, event):
    (found,) = nvidia.call_lane(f"nvvm_cp_async_{symbol}", operands, lane=7).events
    assert (found.kind, found.lane, found.detail) == event


# ------------------------------------------------------------------ ds.read.tr16.b64


def transposed(amd, addresses: np.ndarray, tile: np.ndarray, active: int | None = None):
    options = {"warp_size": 64, "memory": [Memory(tile, shared=True)], "active": active}
    return amd.call_collective("amdgcn_ds_read_tr16_b64", [addresses], np.dtype((np.uint16, 4)), **options)


def numbered_tile(rows: int, columns: int) -> np.ndarray:
    """Return a matrix of different numbers in LDS."""
    tile = aligned_zeros((rows, columns), np.uint16)
    tile[:] = np.arange(1, rows * columns + 1).reshape(rows, columns)
    return tile


def test_every_16_lanes_transpose_a_matrix_of_4_by_16(amd):
    """Four lanes hold a row of the matrix in LDS; a lane gets the column of its own number."""
    tile = numbered_tile(16, 16)
    call = transposed(amd, np.array([address(tile, 8 * lane) for lane in range(64)]), tile)
    assert call.findings == ()
    assert np.array_equal(call.value.reshape(4, 16, 4), tile.reshape(4, 4, 16).transpose(0, 2, 1))


def test_two_reads_give_an_operand_of_mfma_32x32x16(amd):
    """CDNA4 ISA: the first loads K = 0..3 and 8..11, the second 4..7 and 12..15, of a matrix [k][row]."""
    tile, lane = numbered_tile(16, 32), np.arange(64)
    row = 16 * (lane // 16 % 2) + 4 * (lane % 4)
    ks = [8 * (lane // 32) + first + lane % 16 // 4 for first in (0, 4)]
    halves = [transposed(amd, address(tile) + (2 * (32 * k + row)).astype(np.uint64), tile).value for k in ks]
    operand = np.concatenate(halves, axis=1)
    for number in lane:
        assert operand[number].tolist() == tile[8 * (number // 32) + np.arange(8), number % 32].tolist()


@pytest.mark.parametrize(
    ("offset", "unaligned", "active", "kind", "lanes"),
    [
        (0, 2, None, "UNALIGNED", [3]),
        (8, 0, None, "OUT_OF_BOUNDS", [63]),
        (0, 0, (1 << 64) - 1 - (1 << 17), "INACTIVE_SOURCE", [20, 21, 22, 23]),
    ],
)
def test_transposing_reads_are_checked(amd, offset, unaligned, active, kind, lanes):
    tile = numbered_tile(16, 16)
    addresses = np.array([address(tile, 8 * lane + offset) for lane in range(64)])
    addresses[3] += unaligned
    found = kinds_and_lanes(transposed(amd, addresses, tile, active))
    assert sorted(found) == [(kind, lane) for lane in lanes]


# ------------------------------------------------------------------ loads to LDS

BYTES = 64 * 16 * 2


def load_to_lds(amd, source, lds, places, size, *, offset=0, shared_bytes=BYTES, changes=(), active=None):
    """Load `size` bytes per lane from byte `size · place` of the source to LDS, from byte 128 on."""
    sources = np.array([address(source, size * int(place)) for place in places])
    destinations = np.full(64, address(lds, 128))
    for lane in changes:
        destinations[lane] += 4
    arguments = [sources, destinations, np.int32(size), np.int32(offset), np.int32(0)]
    memory = [Memory(source, writable=False), Memory(lds[:shared_bytes], shared=True)]
    return amd.call_collective("amdgcn_load_to_lds", arguments, warp_size=64, memory=memory, active=active)


@pytest.fixture
def source_and_lds() -> tuple[np.ndarray, np.ndarray]:
    return (np.arange(BYTES) * 7 % 251 + 1).astype(np.uint8), np.zeros(BYTES, np.uint8)


@pytest.mark.parametrize("size", [4, 16])
@pytest.mark.parametrize("offset", [0, 64])
@pytest.mark.parametrize("active", [None, 0xAAAAAAAAAAAAAAAA])
def test_lanes_write_one_after_another(amd, source_and_lds, size, offset, active):
    source, lds = source_and_lds
    order = np.arange(64) * 5 % 64
    call = load_to_lds(amd, source, lds, order, size, offset=offset, active=active)
    expected = np.zeros(BYTES, np.uint8)
    for lane, place in enumerate(order):
        if active is None or active >> lane & 1:  # others leave gaps
            at = 128 + offset + size * lane
            expected[at : at + size] = source[offset + size * place :][:size]
    assert call.findings == ()
    assert np.array_equal(lds, expected)


def test_loads_to_lds_are_checked(amd, source_and_lds):
    source, lds = source_and_lds
    places = np.arange(64)
    assert kinds_and_lanes(load_to_lds(amd, source, lds, places, 4, changes=[7])) == [("REPLICATION", 7)]
    assert load_to_lds(amd, source, lds, places, 2).finding_kinds == ["UNSUPPORTED_OPERAND"]
    lds[:] = 0
    beyond = load_to_lds(amd, source, lds, places + BYTES // 4 - 32, 4, shared_bytes=128 + 4 * 16)
    found = kinds_and_lanes(beyond)
    assert {lane for kind, lane in found if kind == "OUT_OF_BOUNDS"} >= {*range(32, 64)}
    assert not np.any(lds[128 + 4 * 16 :])


@pytest.mark.parametrize("is_raw", [False, True], ids=["load.to.lds.p7", "raw.ptr.buffer.load.lds"])
def test_loads_from_buffers_are_clamped(amd, source_and_lds, is_raw):
    """The last lanes lie out of range; they write zeros."""
    source, lds = source_and_lds
    lds[:] = 0xEE
    resource = [address(source), np.uint16(0), np.uint32(60 * 16), np.uint32(0)]
    pointer = amd.call_lane("amdgcn_make_buffer_rsrc", resource, np.uint64).value
    offsets, zero, size = 16 * np.arange(64), np.int32(0), np.int32(16)
    if is_raw:
        more = [size, (offsets - 32).astype(np.int32), np.int32(32), zero, zero]
        pointers, symbol = np.uint64(pointer), "amdgcn_raw_ptr_buffer_load_lds"
    else:
        more = [size, zero, zero]
        pointers, symbol = pointer + offsets.astype(np.uint64), "amdgcn_load_to_lds_buffer"
    arguments = [pointers, np.full(64, address(lds)), *more]
    memory = [Memory(source), Memory(lds, shared=True)]
    call = amd.call_collective(symbol, arguments, warp_size=64, memory=memory)
    assert call.findings == ()
    assert np.array_equal(lds[: 60 * 16], source[: 60 * 16])
    assert not np.any(lds[60 * 16 : 64 * 16])
    assert len(call.of_kind("clamped")) == 4
