"""Barriers of all vendors: what they ask of the runtime.

Sources: PTX ISA 9.2, section 9.7.13, barrier.cta and bar.warp.sync; RDNA4 ISA, S_BARRIER_SIGNAL and
S_BARRIER_WAIT, where −1 names the workgroup's barrier; OpenCL C 3.0.
"""

import numpy as np
import pytest
from intel_builtins import call, call_mangled

from harness.emulator.models.intel import MODELS
from harness.emulator.models.model import ModelKind

LOCAL_FENCE = np.uint32(1)


@pytest.mark.parametrize(
    ("vendor", "name", "operands", "event"),
    [
        ("nvidia", "nvvm_barrier0", [], ("barrier_wait", 0, 0)),
        ("nvidia", "nvvm_barrier_cta_sync_all", [0], ("barrier_wait", 0, 0)),
        ("nvidia", "nvvm_barrier_cta_sync_all", [15], ("barrier_wait", 15, 0)),
        ("nvidia", "nvvm_barrier_cta_sync_count", [3, 64], ("barrier_wait", 3, 64)),
        ("nvidia", "nvvm_barrier_cta_arrive_count", [3, 96], ("barrier_arrive", 3, 96)),
        ("amd", "amdgcn_s_barrier", [], ("barrier_wait", 0, 0)),
        ("amd", "amdgcn_s_barrier_signal", [-1], ("barrier_arrive", 0, 0)),
        ("amd", "amdgcn_s_barrier_wait", [-1], ("barrier_wait_arrived", 0, 0)),
        ("intel", "_Z7barrierj", [1], ("barrier_wait", 0, 0)),
        ("intel", "_Z18work_group_barrierj", [1], ("barrier_wait", 0, 0)),
        ("intel", "_Z18work_group_barrierj12memory_scope", [1], ("barrier_wait", 0, 0)),
    ],
)
def test_barriers_of_workgroups(models, vendor, name, operands, event):
    arguments = [np.int32(operand) for operand in operands]
    if vendor == "intel":
        found = call_mangled(models(vendor), name, arguments, lane=9)
    else:
        found = models(vendor).call_lane(name, arguments, lane=9)
    assert [(asked.kind, asked.detail, asked.threads, asked.lane) for asked in found.events] == [(*event, 9)]


@pytest.mark.parametrize(
    ("vendor", "symbol", "operands"),
    [
        ("nvidia", "nvvm_barrier_cta_sync_all", [16]),
        ("nvidia", "nvvm_barrier_cta_sync_all", [-1]),
        ("nvidia", "nvvm_barrier_cta_sync_count", [16, 32]),
        ("nvidia", "nvvm_barrier_cta_sync_count", [1, 48]),
        ("nvidia", "nvvm_barrier_cta_sync_count", [1, 0]),
        ("nvidia", "nvvm_barrier_cta_arrive_count", [1, 0]),
        ("nvidia", "nvvm_barrier_cta_arrive_count", [1, 33]),
        ("amd", "amdgcn_s_barrier_signal", [1]),
        ("amd", "amdgcn_s_barrier_wait", [-2]),
    ],
)
def test_operands_that_no_barrier_takes(models, vendor, symbol, operands):
    found = models(vendor).call_lane(symbol, [np.int32(operand) for operand in operands])
    assert found.finding_kinds == ["UNSUPPORTED_OPERAND"]
    assert [event.kind for event in found.events] == ["finding"]


@pytest.mark.parametrize(
    ("mask", "active", "kinds"),
    [
        (0xFFFFFFFF, 0xFFFFFFFF, []),
        (0x0000000F, 0x0000000F, []),
        (0xFFFFFFFF, 0x0000FFFF, ["DIVERGENT_COLLECTIVE"]),
        (0x0000FFFF, 0xFFFFFFFF, ["MEMBER_MASK"]),
    ],
)
def test_a_barrier_of_a_warp(nvidia, mask, active, kinds):
    found = nvidia.call_collective("nvvm_bar_warp_sync", [np.uint32(mask)], active=active)
    assert found.finding_kinds == kinds


def test_a_sub_group_barrier_needs_all_lanes(intel):
    assert call(intel, "sub_group_barrier", ["j"], [LOCAL_FENCE]).events == ()
    partial = call(intel, "sub_group_barrier", ["j"], [LOCAL_FENCE], active=0x00FF)
    assert partial.finding_kinds == ["DIVERGENT_COLLECTIVE"]
    assert call(intel, "sub_group_barrier", ["j"], [LOCAL_FENCE], count=8).findings == ()


@pytest.mark.parametrize("name", ["_Z9mem_fencej", "_Z22atomic_work_item_fenceiii"])
def test_fences_do_nothing(name):
    assert MODELS[name].kind is ModelKind.NOTHING
