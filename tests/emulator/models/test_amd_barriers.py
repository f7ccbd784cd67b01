"""Barriers: RDNA4 ISA, S_BARRIER_SIGNAL and S_BARRIER_WAIT, where −1 names the workgroup's barrier."""

import numpy as np
import pytest
from model_calls import Argument, ModelLibrary


@pytest.mark.parametrize(
    ("symbol", "arguments", "kind"),
    [
        ("amdgcn_s_barrier", [], "barrier_wait"),
        ("amdgcn_s_barrier_signal", [np.int32(-1)], "barrier_arrive"),
        ("amdgcn_s_barrier_wait", [np.int16(-1)], "barrier_wait_arrived"),
    ],
)
def test_all_lanes_meet_at_one_barrier(
    amd: ModelLibrary, symbol: str, arguments: list[Argument], kind: str
) -> None:
    call = amd.call_lane(symbol, arguments, lane=5)
    assert [(event.kind, event.lane, event.detail, event.threads) for event in call.events] == [
        (kind, 5, 0, 0)
    ]


@pytest.mark.parametrize(
    ("symbol", "barrier"),
    [("amdgcn_s_barrier_signal", np.int32(1)), ("amdgcn_s_barrier_wait", np.int16(-2))],
)
def test_other_barriers_are_reported(amd: ModelLibrary, symbol: str, barrier: np.generic) -> None:
    call = amd.call_lane(symbol, [barrier])
    assert call.finding_kinds == ["UNSUPPORTED_OPERAND"]
    assert len(call.events) == 1
