"""Transposing reads of LDS (gfx950), and loads to LDS.

Sources: AMD Instinct CDNA4 ISA, section 11.4, DS_READ_B64_TR_B16; AMD Instinct MI300 ISA, buffer loads to
LDS: the address in LDS is that of the wave plus the offset plus the lane times the size.
"""

import numpy as np
import pytest
from fragment_tables import lane_table
from model_calls import Argument, Call, Memory, ModelLibrary, address, aligned_zeros

FOUR_HALFS = np.dtype((np.uint16, 4))
LANES = 64


# ------------------------------------------------------------------ ds.read.tr16.b64


def transposed(amd: ModelLibrary, tile: np.ndarray, addresses: np.ndarray, active: int | None = None) -> Call:
    memory = [Memory(tile, shared=True)]
    return amd.call_collective(
        "amdgcn_ds_read_tr16_b64", [addresses], FOUR_HALFS, warp_size=LANES, memory=memory, active=active
    )


def tile_of(rows: int, columns: int) -> np.ndarray:
    """Return a matrix of different numbers in LDS."""
    tile = aligned_zeros((rows, columns), np.uint16)
    tile[:] = np.arange(1, rows * columns + 1).reshape(rows, columns)
    return tile


def test_every_16_lanes_transpose_a_matrix_of_4_by_16(amd: ModelLibrary) -> None:
    """Four lanes hold a row of the matrix in LDS; a lane gets the column of its own number."""
    tile = tile_of(16, 16)
    addresses = np.array([address(tile, 8 * lane) for lane in range(LANES)])
    call = transposed(amd, tile, addresses)
    assert call.findings == ()
    for group in range(4):
        expected = tile[4 * group : 4 * group + 4].T
        found = call.value[16 * group : 16 * group + 16]
        table = lane_table(lambda lane, element: (element, lane), 4, 16, 16, 4)
        assert np.array_equal(found, expected), f"lanes and elements of rows and columns:\n{table}"


def test_two_reads_give_an_operand_of_mfma_32x32x16(amd: ModelLibrary) -> None:
    """CDNA4 ISA: the first loads K = 0..3 and 8..11, the second 4..7 and 12..15, of a matrix [k][row]."""
    tile = tile_of(16, 32)
    halves = []
    for first in (0, 4):
        addresses = []
        for lane in range(LANES):
            k = 8 * (lane // 32) + first + lane % 16 // 4
            row = 16 * (lane // 16 % 2) + 4 * (lane % 4)
            addresses.append(address(tile, 2 * (32 * k + row)))
        halves.append(transposed(amd, tile, np.array(addresses)).value)
    operand = np.concatenate(halves, axis=1)
    for lane in range(LANES):
        ks = 8 * (lane // 32) + np.arange(8)
        assert operand[lane].tolist() == tile[ks, lane % 32].tolist()


def test_an_unaligned_read_is_reported(amd: ModelLibrary) -> None:
    tile = tile_of(16, 16)
    addresses = np.array([address(tile, 8 * lane) for lane in range(LANES)])
    addresses[3] += 2
    call = transposed(amd, tile, addresses)
    assert [(finding.kind, finding.lane) for finding in call.findings] == [("UNALIGNED", 3)]


def test_a_read_out_of_bounds_is_reported(amd: ModelLibrary) -> None:
    tile = tile_of(16, 16)
    addresses = np.array([address(tile, 8 * lane + 8) for lane in range(LANES)])
    call = transposed(amd, tile, addresses)
    assert [(finding.kind, finding.lane) for finding in call.findings] == [("OUT_OF_BOUNDS", 63)]


def test_a_row_of_an_inactive_lane_is_reported(amd: ModelLibrary) -> None:
    tile = tile_of(16, 16)
    addresses = np.array([address(tile, 8 * lane) for lane in range(LANES)])
    call = transposed(amd, tile, addresses, active=(1 << 64) - 1 - (1 << 17))
    assert call.finding_kinds == ["INACTIVE_SOURCE"]
    assert sorted(finding.lane for finding in call.findings) == [20, 21, 22, 23]


# ------------------------------------------------------------------ loads to LDS

BYTES = 64 * 16 * 2


def source_bytes() -> np.ndarray:
    return (np.arange(BYTES) * 7 % 251 + 1).astype(np.uint8)


def load_to_lds(
    amd: ModelLibrary,
    sources: np.ndarray,
    destinations: np.ndarray,
    size: int,
    memory: list[Memory],
    *,
    offset: int = 0,
    symbol: str = "amdgcn_load_to_lds",
    active: int | None = None,
) -> Call:
    arguments: list[Argument] = [sources, destinations, np.int32(size), np.int32(offset), np.int32(0)]
    return amd.call_collective(symbol, arguments, warp_size=LANES, memory=memory, active=active)


@pytest.mark.parametrize("size", [4, 16])
@pytest.mark.parametrize("offset", [0, 64])
def test_lanes_write_one_after_another(amd: ModelLibrary, size: int, offset: int) -> None:
    source, lds = source_bytes(), np.zeros(BYTES, np.uint8)
    order = np.arange(LANES) * 5 % LANES
    sources = np.array([address(source, size * place) for place in order])
    destinations = np.full(LANES, address(lds, 128))
    memory = [Memory(source, writable=False), Memory(lds, shared=True)]
    call = load_to_lds(amd, sources, destinations, size, memory, offset=offset)
    expected = np.zeros(BYTES, np.uint8)
    for lane, place in enumerate(order):
        start = 128 + offset + size * lane
        expected[start : start + size] = source[offset + size * place :][:size]
    assert call.findings == ()
    assert np.array_equal(lds, expected)


def test_inactive_lanes_leave_gaps(amd: ModelLibrary) -> None:
    source, lds = source_bytes(), np.zeros(BYTES, np.uint8)
    sources = np.array([address(source, 4 * lane) for lane in range(LANES)])
    memory = [Memory(source), Memory(lds, shared=True)]
    load_to_lds(amd, sources, np.full(LANES, address(lds)), 4, memory, active=0xAAAAAAAAAAAAAAAA)
    expected = source[:256].reshape(64, 4).copy()
    expected[::2] = 0
    assert np.array_equal(lds[:256].reshape(64, 4), expected)


def test_an_address_in_lds_that_the_wave_does_not_share_is_reported(amd: ModelLibrary) -> None:
    source, lds = source_bytes(), np.zeros(BYTES, np.uint8)
    destinations = np.full(LANES, address(lds))
    destinations[7] += 4
    memory = [Memory(source), Memory(lds, shared=True)]
    call = load_to_lds(amd, np.full(LANES, address(source)), destinations, 4, memory)
    assert [(finding.kind, finding.lane) for finding in call.findings] == [("REPLICATION", 7)]


def test_other_sizes_are_reported(amd: ModelLibrary) -> None:
    source, lds = source_bytes(), np.zeros(BYTES, np.uint8)
    memory = [Memory(source), Memory(lds, shared=True)]
    call = load_to_lds(amd, np.full(LANES, address(source)), np.full(LANES, address(lds)), 2, memory)
    assert call.finding_kinds == ["UNSUPPORTED_OPERAND"]


def test_both_addresses_are_checked(amd: ModelLibrary) -> None:
    source, lds = source_bytes(), np.zeros(BYTES, np.uint8)
    sources = np.array([address(source, BYTES - 4 * 32 + 4 * lane) for lane in range(LANES)])
    memory = [Memory(source), Memory(lds[: 4 * 16], shared=True)]
    call = load_to_lds(amd, sources, np.full(LANES, address(lds)), 4, memory)
    assert {finding.lane for finding in call.findings if finding.kind == "OUT_OF_BOUNDS"} >= {*range(32, 64)}
    assert not np.any(lds[4 * 16 :])


@pytest.mark.parametrize("is_raw", [False, True], ids=["load.to.lds.p7", "raw.ptr.buffer.load.lds"])
def test_loads_from_buffers_are_clamped(amd: ModelLibrary, is_raw: bool) -> None:
    """The last lanes lie out of range; they write zeros."""
    source, lds = source_bytes(), np.full(BYTES, 0xEE, np.uint8)
    resource = [address(source), np.uint16(0), np.uint32(60 * 16), np.uint32(0)]
    pointer = int(amd.call_lane("amdgcn_make_buffer_rsrc", resource, np.uint64).value)
    offsets = 16 * np.arange(LANES)
    memory = [Memory(source), Memory(lds, shared=True)]
    destinations = np.full(LANES, address(lds))
    if is_raw:
        arguments = [np.uint64(pointer), destinations, np.int32(16), (offsets - 32).astype(np.int32),
                     np.int32(32), np.int32(0), np.int32(0)]  # fmt: skip
        symbol = "amdgcn_raw_ptr_buffer_load_lds"
        call = amd.call_collective(symbol, arguments, warp_size=LANES, memory=memory)
    else:
        pointers = (pointer + offsets).astype(np.uint64)
        call = load_to_lds(amd, pointers, destinations, 16, memory, symbol="amdgcn_load_to_lds_buffer")
    assert call.findings == ()
    assert np.array_equal(lds[: 60 * 16], source[: 60 * 16])
    assert not np.any(lds[60 * 16 : 64 * 16])
    assert len(call.of_kind("clamped")) == 4
