"""Barriers of work-groups and sub-groups, and what is none."""

import numpy as np
import pytest
from intel_builtins import call, call_mangled
from model_calls import ModelLibrary

from harness.emulator.models.intel import MODELS
from harness.emulator.models.model import ModelKind

LOCAL_FENCE = np.uint32(1)


@pytest.mark.parametrize(
    ("name", "event"),
    [
        ("_Z7barrierj", "barrier_wait"),
        ("_Z18work_group_barrierj", "barrier_wait"),
        ("_Z18work_group_barrierj12memory_scope", "barrier_wait"),
        ("_Z31intel_work_group_barrier_arrivej", "barrier_arrive"),
        ("_Z29intel_work_group_barrier_waitj", "barrier_wait_arrived"),
    ],
)
def test_work_group_barriers(intel: ModelLibrary, name: str, event: str) -> None:
    waited = call_mangled(intel, name, [LOCAL_FENCE], lane=3)
    assert [(made.kind, made.lane, made.detail, made.threads) for made in waited.events] == [(event, 3, 0, 0)]


def test_a_sub_group_barrier_needs_all_lanes(intel: ModelLibrary) -> None:
    assert call(intel, "sub_group_barrier", ["j"], [LOCAL_FENCE]).events == ()
    partial = call(intel, "sub_group_barrier", ["j"], [LOCAL_FENCE], active=0x00FF)
    assert partial.finding_kinds == ["DIVERGENT_COLLECTIVE"]
    assert call(intel, "sub_group_barrier", ["j"], [LOCAL_FENCE], count=8).findings == ()


@pytest.mark.parametrize(
    "name",
    [
        "_Z9mem_fencej",
        "_Z22atomic_work_item_fenceiii",
        "_Z22atomic_work_item_fencej12memory_order12memory_scope",
        "_Z8prefetchPU3AS1Kcm",
        "_Z33intel_sub_group_block_prefetch_uiPU3AS1Kj",
    ],
)
def test_fences_and_prefetches_of_consecutive_memory_do_nothing(name: str) -> None:
    assert MODELS[name].kind is ModelKind.NOTHING
