"""How problems are cut into tiles, and how many operations the tiled forms execute."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import plugins
from harness.case import Case
from harness.problem import AttentionProblem
from harness.targets.cpu.chip import chip
from harness.variants.flash_form import flash_flops
from harness.variants.naive_form import naive_flops
from harness.variants.tiling import TileSizes, Tiling
from harness.variants.unfused_form import unfused_flops

PROBLEMS = st.builds(
    AttentionProblem,
    batch=st.integers(1, 2),
    heads=st.integers(1, 2),
    kv_heads=st.just(1),
    seq_q=st.integers(1, 100),
    seq_kv=st.integers(1, 100),
    head_dim=st.integers(1, 9),
    head_dim_v=st.integers(1, 9),
    causal=st.booleans(),
    causal_alignment=st.sampled_from(["bottom-right", "top-left"]),
    scale=st.just(1.0),
)
SIZES = st.builds(
    TileSizes, query=st.integers(1, 40), key=st.integers(1, 40), query_granule=st.sampled_from([1, 8, 16])
)
TILINGS = st.builds(Tiling.of, PROBLEMS, SIZES)


def query_starts(tiling: Tiling) -> list[int]:
    """First query of each tile, the last one shifted back into the sequence."""
    last = tiling.problem.seq_q - tiling.query
    return [min(tile * tiling.query, last) for tile in range(tiling.query_tiles)]


def key_starts(tiling: Tiling) -> list[int]:
    """First key of each tile, likewise."""
    last = tiling.problem.seq_kv - tiling.key
    return [min(tile * tiling.key, last) for tile in range(tiling.key_tiles)]


def sees_any(tiling: Tiling, first_query: int, first_key: int) -> bool:
    """Whether some query of a tile sees some key of a tile, pair by pair."""
    problem = tiling.problem
    queries = np.arange(first_query, first_query + tiling.query)
    _, end = problem.visible_range(queries, problem.seq_q, problem.seq_kv)
    return bool((end > first_key).any())


@given(TILINGS)
def test_tiles_cover_every_query_and_no_others(tiling):
    covered = {start + row for start in query_starts(tiling) for row in range(tiling.query)}
    assert covered == set(range(tiling.problem.seq_q))


@given(TILINGS)
def test_tiles_cover_every_key_and_no_others(tiling):
    covered = {start + row for start in key_starts(tiling) for row in range(tiling.key)}
    assert covered == set(range(tiling.problem.seq_kv))


@given(TILINGS)
def test_no_tile_is_superfluous(tiling):
    assert (tiling.query_tiles - 1) * tiling.query < tiling.problem.seq_q
    assert (tiling.key_tiles - 1) * tiling.key < tiling.problem.seq_kv


@given(PROBLEMS, SIZES)
def test_computed_rows_are_the_least_multiple_of_the_granule(problem, sizes):
    tiling = Tiling.of(problem, sizes)
    assert tiling.padded_query % sizes.query_granule == 0
    assert 0 <= tiling.padded_query - tiling.query < sizes.query_granule


@given(TILINGS)
def test_visited_key_tiles_are_those_with_a_visible_pair(tiling):
    starts = [tile * tiling.key for tile in range(tiling.key_tiles)]
    counted = sum(sees_any(tiling, query, key) for query in query_starts(tiling) for key in starts)
    assert tiling.visited_key_tiles() == counted


@given(TILINGS)
def test_flash_executes_both_products_of_every_visited_tile(tiling):
    problem = tiling.problem
    operations = 0
    for query in query_starts(tiling):
        for tile in range(tiling.key_tiles):
            if sees_any(tiling, query, tile * tiling.key):
                operations += 2 * tiling.padded_query * tiling.key * problem.head_dim
                operations += 2 * tiling.padded_query * tiling.key * problem.head_dim_v
    assert flash_flops(tiling) == problem.batch * problem.heads * operations


@given(TILINGS)
def test_naive_recomputes_a_row_of_scores_for_every_key_tile(tiling):
    problem = tiling.problem
    operations = 0
    for _query in query_starts(tiling):
        for _tile in key_starts(tiling):
            for _recomputed in key_starts(tiling):
                operations += 2 * tiling.padded_query * tiling.key * problem.head_dim
            operations += 2 * tiling.padded_query * tiling.key * problem.head_dim
            operations += 2 * tiling.padded_query * tiling.key * problem.head_dim_v
    assert naive_flops(tiling) == problem.batch * problem.heads * operations


@given(TILINGS)
def test_unfused_executes_hidden_pairs_too(tiling):
    problem = tiling.problem
    operations = 0
    for _query in query_starts(tiling):
        for _tile in key_starts(tiling):
            operations += 2 * tiling.padded_query * tiling.key * problem.head_dim
        operations += 2 * tiling.padded_query * problem.seq_kv * problem.head_dim_v
    assert unfused_flops(tiling) == problem.batch * problem.heads * operations


@pytest.mark.parametrize("tiles", [1, 2, 8])
def test_naive_s_recompute_factor_where_tiles_divide(tiles):
    problem = AttentionProblem(heads=2, seq_q=64, seq_kv=16 * tiles, head_dim=8)
    tiling = Tiling.of(problem, TileSizes(query=32, key=16))
    assert naive_flops(tiling) == problem.flops() * (tiles + 2) / 2


def test_flash_and_unfused_execute_the_ideal_where_tiles_divide():
    problem = AttentionProblem(heads=2, seq_q=64, seq_kv=48, head_dim=8)
    tiling = Tiling.of(problem, TileSizes(query=32, key=16))
    assert flash_flops(tiling) == unfused_flops(tiling) == problem.flops()


@pytest.mark.parametrize("variant", ["flash", "naive", "unfused"])
def test_parameters_reach_the_tiling(variant):
    problem = AttentionProblem(heads=1, seq_q=100, head_dim=8)
    case = Case(problem=problem, variant=variant, target="cpu", params={"tile_q": 24, "tile_kv": 7})
    tiling = plugins.variant(variant).tiling(case)
    assert (tiling.query, tiling.key) == (24, 7)


def test_what_no_parameter_sets_comes_from_the_target():
    problem = AttentionProblem(heads=1, seq_q=500, head_dim=8)
    case = Case(problem=problem, variant="flash", target="cpu:avx2")
    preferred = plugins.target("cpu").tile_sizes("avx2", problem)
    tiling = plugins.variant("flash").tiling(case)
    assert (tiling.query, tiling.key) == (preferred.query, preferred.key)


def test_the_cpu_pads_queries_to_whole_vectors():
    problem = AttentionProblem(heads=1, seq_q=3, head_dim=8)
    tiling = plugins.variant("flash").tiling(Case(problem=problem, variant="flash", target="cpu:avx2"))
    assert (tiling.query, tiling.padded_query) == (3, chip("avx2").registers.vector_length)


def test_parameters_enter_the_source_that_cache_keys_are_made_of():
    problem = AttentionProblem(heads=1, seq_q=64, head_dim=8)
    sources = {
        plugins.variant("flash").source(
            Case(problem=problem, variant="flash", target="cpu", params={"tile_kv": tile})
        )
        for tile in (16, 32)
    }
    assert len(sources) == 2


@pytest.mark.parametrize("variant", ["flash", "naive", "unfused"])
def test_unsupported_features_give_their_reason(variant):
    capped = AttentionProblem(heads=1, seq_q=4, head_dim=8, softcap=30.0)
    reason = plugins.variant(variant).supports(capped, "cpu")
    assert reason == "a score cap (softcap) is not part of this variant's payload"


@pytest.mark.parametrize("variant", ["flash", "naive", "unfused"])
def test_plain_problems_are_supported(variant):
    problem = AttentionProblem(heads=4, kv_heads=2, seq_q=5, head_dim=8, causal=True, dtype="f16")
    assert plugins.variant(variant).supports(problem, "cpu") is None
