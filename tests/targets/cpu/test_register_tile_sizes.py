"""Blocks of accumulators for tiles of any size: they fit the registers."""

import itertools

import pytest
from sweeps import sweep
from variants.native_runs import build, judge

from harness.problem.attention_problem import AttentionProblem
from harness.targets.cpu.chip import RegisterTile

PROBLEM = AttentionProblem(heads=1, seq_q=256, head_dim=64)

MOST_SPILLS_FOR_EACH_VECTOR = 15
"""Of queries: constants of the exponential, mostly."""


@pytest.mark.parametrize(("target", "vector"), [("cpu:avx2", 8), ("cpu:avx512", 16)])
@pytest.mark.parametrize("tile_q", sweep([32, 64, 128], but=[64]))
def test_large_tiles_of_queries_do_not_spill_accumulators(target: str, vector: int, tile_q: int) -> None:
    artifact, _ = build("flash", PROBLEM, target=target, params={"tile_q": tile_q})
    assert artifact.metrics.spills is not None
    assert artifact.metrics.spills <= MOST_SPILLS_FOR_EACH_VECTOR * tile_q // vector


TILES = [*itertools.product(["flash", "naive", "unfused"], [40, 64]), ("flash", 256), ("naive", 256)]


@pytest.mark.parametrize(
    ("variant", "tile_q"),
    [
        *sweep(TILES, but=[("flash", 40)]),
        pytest.param("unfused", 256, marks=pytest.mark.slow),  # LLVM takes long for whole rows of so many
    ],
)
def test_large_tiles_of_queries_are_right(variant: str, tile_q: int) -> None:
    problem = PROBLEM.model_copy(update={"causal": True, "seq_q": 300, "seq_kv": 300, "dtype": "bf16"})
    assert judge(variant, problem, params={"tile_q": tile_q}).ok


@pytest.mark.parametrize("vector", [4, 8, 16])
def test_blocks_cover_a_tile_in_whole_vectors_of_which_three_fit(vector: int) -> None:
    registers = RegisterTile.of_vector_length(vector)
    for vectors in range(1, 33):
        lanes = registers.contraction_lanes(vectors * vector, rows=4)
        assert vectors * vector % lanes == 0
        assert lanes % vector == 0
        assert lanes <= 3 * vector


def test_what_whole_vectors_do_not_divide_stays_whole() -> None:
    assert RegisterTile.of_vector_length(8).contraction_lanes(44, rows=4) == 44


@pytest.mark.parametrize("vector", [4, 8, 16])
def test_a_block_of_one_row_is_longer(vector: int) -> None:
    registers = RegisterTile.of_vector_length(vector)
    assert registers.contraction_lanes(4 * vector, rows=1) == 4 * vector
    assert registers.contraction_lanes(64 * vector, rows=1) == registers.contraction_rows * vector
