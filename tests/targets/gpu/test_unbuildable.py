"""What is refused before anything is built, by what warps share and shared memory has room for."""

from typing import Any

import pytest

from harness import plugins
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case


def why(target: str, **params: Any) -> str | None:
    problem = AttentionProblem(heads=2, seq_q=4096, head_dim=128, dtype="f16")
    return plugins.variant("flash").why_unbuildable(
        Case(problem=problem, variant="flash", target=target, params=params)
    )


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({"tile_q": 24}, "tile_q 24: expected a multiple of 64 queries"),
        ({"tile_kv": 40}, "tile_kv 40: expected a multiple of 16 keys"),
        ({"tile_kv": 4096}, "tile_kv 4096: a tile of 1048576 bytes, expected at most"),
    ],
)
def test_a_tile_that_no_kernel_has_is_refused_with_its_reason(params: dict[str, int], reason: str) -> None:
    assert (why("cuda:sm_80", **params) or "").startswith(reason)


def test_fewer_warps_share_smaller_tiles() -> None:
    assert why("cuda:sm_80", tile_q=32) is not None
    assert why("cuda:sm_80", tile_q=32, warps=2) is None


def test_a_processor_takes_any_tile() -> None:
    assert why("cpu", tile_q=24, tile_kv=4096) is None
