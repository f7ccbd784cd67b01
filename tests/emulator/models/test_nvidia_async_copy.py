"""NVIDIA's cp.async (PTX ISA 9.2, section 9.7.9, non-bulk copies): what is started, and what is refused."""

from dataclasses import dataclass

import numpy as np
import pytest
from model_calls import Call, Memory, ModelLibrary, address, aligned_zeros


@dataclass(frozen=True)
class Copies:
    """Global and shared memory, and copies between them."""

    models: ModelLibrary
    buffer: np.ndarray
    shared: np.ndarray

    def start(
        self, size: int, source_bytes: int | None = None, *, source_at: int = 0, destination_at: int = 0
    ) -> Call:
        """Start a copy of `size` bytes by lane 5, of which `source_bytes` are read."""
        arguments = [address(self.shared, destination_at), address(self.buffer, source_at)]
        memory = [Memory(self.buffer, writable=False), Memory(self.shared, shared=True)]
        symbol = f"nvvm_cp_async_{size}"
        if source_bytes is not None:
            symbol, arguments = f"{symbol}_s", [*arguments, np.uint32(source_bytes)]
        return self.models.call_lane(symbol, arguments, lane=5, memory=memory)


@pytest.fixture
def copies(nvidia: ModelLibrary) -> Copies:
    return Copies(nvidia, aligned_zeros(64, np.uint8), aligned_zeros(64, np.uint8))


@pytest.mark.parametrize("size", [4, 8, 16])
def test_a_copy_is_started(copies: Copies, size: int) -> None:
    call = copies.start(size, source_at=size, destination_at=2 * size)
    (started,) = call.of_kind("start_copy")
    assert (started.lane, started.bytes, started.source_bytes) == (5, size, size)
    assert started.address == address(copies.shared, 2 * size)
    assert started.source == address(copies.buffer, size)
    assert call.findings == ()
    assert not copies.shared.any(), "the model itself copies nothing"


def test_both_ends_are_checked(copies: Copies) -> None:
    accesses = [(event.address, event.bytes, event.detail) for event in copies.start(16).of_kind("access")]
    assert accesses == [(address(copies.buffer), 16, 0), (address(copies.shared), 16, 1)]


@pytest.mark.parametrize(("size", "source_bytes"), [(16, 16), (16, 10), (8, 3), (4, 1)])
def test_fewer_bytes_may_be_read(copies: Copies, size: int, source_bytes: int) -> None:
    call = copies.start(size, source_bytes, source_at=64 - size)
    (started,) = call.of_kind("start_copy")
    assert (started.bytes, started.source_bytes) == (size, source_bytes)
    assert [event.bytes for event in call.of_kind("access")] == [source_bytes, size]


def test_a_source_that_is_not_read_may_be_anywhere(copies: Copies) -> None:
    call = copies.start(16, 0, source_at=1 << 20)
    assert call.findings == ()
    assert len(call.of_kind("start_copy")) == 1


def test_a_source_may_end_within_the_copy(copies: Copies) -> None:
    assert copies.start(16, 8, source_at=64 - 16).findings == ()
    assert copies.start(16, 16, source_at=64).finding_kinds == ["OUT_OF_BOUNDS"]


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
def test_a_mistake_is_found_and_nothing_started(copies: Copies, arguments: dict[str, int], kind: str) -> None:
    call = copies.start(**arguments)
    assert call.finding_kinds == [kind]
    assert call.of_kind("start_copy") == []


def test_the_ends_must_lie_in_their_memories(nvidia: ModelLibrary, copies: Copies) -> None:
    to_global = Copies(nvidia, copies.shared, copies.buffer)
    memory = [Memory(copies.buffer), Memory(copies.shared, shared=True)]
    backwards = [address(to_global.shared), address(to_global.buffer)]
    assert nvidia.call_lane("nvvm_cp_async_16", backwards, memory=memory).finding_kinds == [
        "SHARED_OUT_OF_BOUNDS"
    ]
    within = [address(copies.shared), address(copies.shared, 16)]
    assert nvidia.call_lane("nvvm_cp_async_16", within, memory=memory).finding_kinds == ["OUT_OF_BOUNDS"]


def test_groups(nvidia: ModelLibrary) -> None:
    assert [event.kind for event in nvidia.call_lane("nvvm_cp_async_commit_group").events] == [
        "commit_copies"
    ]
    (waited,) = nvidia.call_lane("nvvm_cp_async_wait_group", [np.int32(3)], lane=7).events
    assert (waited.kind, waited.lane, waited.detail) == ("wait_for_copies", 7, 3)
    assert [event.kind for event in nvidia.call_lane("nvvm_cp_async_wait_all").events] == [
        "wait_for_all_copies"
    ]
