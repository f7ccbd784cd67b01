"""NVIDIA's barriers (PTX ISA 9.2, section 9.7.13, barrier.cta and bar.warp.sync)."""

import numpy as np
import pytest
from model_calls import ModelLibrary


@pytest.mark.parametrize(
    ("symbol", "operands", "event"),
    [
        ("nvvm_barrier0", [], ("barrier_wait", 0, 0)),
        ("nvvm_barrier_cta_sync_all", [0], ("barrier_wait", 0, 0)),
        ("nvvm_barrier_cta_sync_all", [15], ("barrier_wait", 15, 0)),
        ("nvvm_barrier_cta_sync_count", [3, 64], ("barrier_wait", 3, 64)),
        ("nvvm_barrier_cta_arrive_count", [3, 96], ("barrier_arrive", 3, 96)),
    ],
)
def test_a_barrier(
    nvidia: ModelLibrary, symbol: str, operands: list[int], event: tuple[str, int, int]
) -> None:
    call = nvidia.call_lane(symbol, [np.int32(operand) for operand in operands], lane=9)
    assert [(found.kind, found.detail, found.threads, found.lane) for found in call.events] == [(*event, 9)]


@pytest.mark.parametrize(
    ("symbol", "operands"),
    [
        ("nvvm_barrier_cta_sync_all", [16]),
        ("nvvm_barrier_cta_sync_all", [-1]),
        ("nvvm_barrier_cta_sync_count", [16, 32]),
        ("nvvm_barrier_cta_sync_count", [1, 48]),
        ("nvvm_barrier_cta_sync_count", [1, 0]),
        ("nvvm_barrier_cta_arrive_count", [1, 0]),
        ("nvvm_barrier_cta_arrive_count", [1, 33]),
    ],
)
def test_operands_that_no_barrier_takes(nvidia: ModelLibrary, symbol: str, operands: list[int]) -> None:
    call = nvidia.call_lane(symbol, [np.int32(operand) for operand in operands])
    assert call.finding_kinds == ["UNSUPPORTED_OPERAND"]
    assert [event.kind for event in call.events] == ["finding"]


@pytest.mark.parametrize(
    ("mask", "active", "kinds"),
    [
        (0xFFFFFFFF, 0xFFFFFFFF, []),
        (0x0000000F, 0x0000000F, []),
        (0xFFFFFFFF, 0x0000FFFF, ["DIVERGENT_COLLECTIVE"]),
        (0x0000FFFF, 0xFFFFFFFF, ["MEMBER_MASK"]),
    ],
)
def test_a_barrier_of_a_warp(nvidia: ModelLibrary, mask: int, active: int, kinds: list[str]) -> None:
    call = nvidia.call_collective("nvvm_bar_warp_sync", [np.uint32(mask)], active=active)
    assert call.finding_kinds == kinds
