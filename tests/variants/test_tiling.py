"""How problems are cut into tiles, and how many operations the tiled kernels execute."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import plugins
from harness.codegen.costs.costs import total
from harness.codegen.costs.counter import count
from harness.codegen.dialect.context import mlir_context
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.targets.base import TileSizes
from harness.variants.schedule import apply
from harness.variants.tiling import Tiling

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
    TileSizes, query=st.integers(2, 40), key=st.integers(2, 40), query_multiple=st.sampled_from([1, 8, 16])
)


def executed(variant: str, problem: AttentionProblem, sizes: TileSizes) -> int:
    """Return the matrix-product operations of a variant's tiled kernels."""
    chosen, tiling = plugins.variant(variant), Tiling.of(problem, sizes)
    with mlir_context():
        module = chosen.payload(tiling)
        apply(chosen.schedule(tiling, chosen.parameters()), module)
        return total(count(module)).matmul


def query_rows_of_tile(tiling: Tiling) -> int:
    """Query rows of a tile that are computed."""
    return tiling.query if tiling.tiles_queries else tiling.padded_query


def query_starts(tiling: Tiling) -> list[int]:
    """First query of each tile, the last one shifted back into the sequence."""
    last = tiling.problem.seq_q - tiling.query
    return [min(start, last) for start in range(0, tiling.problem.seq_q, tiling.query)]


def key_starts(tiling: Tiling) -> range:
    """First key of each tile, before shifting."""
    return range(0, tiling.problem.seq_kv, tiling.key)


def sees_any(tiling: Tiling, first_query: int, first_key: int) -> bool:
    """Whether some query of a tile sees some key of a tile, pair by pair."""
    problem = tiling.problem
    # Without a loop over key tiles there is nothing to skip.
    if len(key_starts(tiling)) == 1:
        return True
    queries = np.arange(first_query, first_query + query_rows_of_tile(tiling))
    _, end = problem.visible_range(queries, problem.seq_q, problem.seq_kv)
    return bool((end > first_key).any())


def tile_flops(tiling: Tiling) -> tuple[int, int]:
    """Operations of one tile's two products."""
    pairs = 2 * query_rows_of_tile(tiling) * tiling.key
    return pairs * tiling.problem.head_dim, pairs * tiling.problem.head_dim_v


@settings(max_examples=20)
@given(PROBLEMS, SIZES)
def test_flash_executes_both_products_of_every_visited_tile(problem, sizes):
    tiling = Tiling.of(problem, sizes)
    visited = sum(
        sees_any(tiling, query, key) for query in query_starts(tiling) for key in key_starts(tiling)
    )
    expected = problem.batch * problem.heads * visited * sum(tile_flops(tiling))
    assert executed("flash", problem, sizes) == expected


@settings(max_examples=8)
@given(PROBLEMS, SIZES)
def test_naive_recomputes_a_row_of_scores_for_every_key_tile(problem, sizes):
    tiling = Tiling.of(problem, sizes)
    tiles = len(key_starts(tiling))
    score, value = tile_flops(tiling)
    per_query_tile = tiles * (tiles * score + score + value) if tiles > 1 else 2 * score + value
    expected = problem.batch * problem.heads * len(query_starts(tiling)) * per_query_tile
    assert executed("naive", problem, sizes) == expected


@settings(max_examples=6)
@given(PROBLEMS, SIZES)
def test_upstream_recomputes_a_row_of_scores_for_every_key_tile_and_repeats_no_key(problem, sizes):
    sizes = replace(sizes, query_multiple=1)
    tiles = len(key_starts(Tiling.of(problem, sizes)))
    pairs = 2 * problem.batch * problem.heads * problem.seq_q * problem.seq_kv
    expected = pairs * ((tiles + 1) * problem.head_dim + problem.head_dim_v)
    assert executed("upstream-fuse", problem, sizes) == expected


@settings(max_examples=8)
@given(PROBLEMS, SIZES)
def test_unfused_executes_hidden_pairs_too(problem, sizes):
    tiling = Tiling.of(problem, sizes)
    score, _ = tile_flops(tiling)
    rows = query_rows_of_tile(tiling) * len(query_starts(tiling))
    values = 2 * rows * problem.seq_kv * problem.head_dim_v
    scores = len(query_starts(tiling)) * len(key_starts(tiling)) * score
    assert executed("unfused", problem, sizes) == problem.batch * problem.heads * (scores + values)


@pytest.mark.parametrize("tiles", [2, 8])
def test_naive_makes_rows_of_scores_twice_where_kernels_hold_none(tiles):
    problem = AttentionProblem(heads=2, seq_q=64, seq_kv=16 * tiles, head_dim=8)
    sizes = TileSizes(query=32, key=16, materializes_score_rows=False)
    assert executed("naive", problem, sizes) == problem.flops() * (tiles + 1)


@pytest.mark.parametrize(
    ("params", "chosen"),
    [
        ({"tile_q": 512, "tile_kv": 4096}, {"tile_q": 24, "tile_kv": 40}),
        ({"tile_q": 8, "tile_kv": 4096}, {"tile_kv": 40}),
        ({"tile_q": 8, "tile_kv": 16, "kv_splits": 9}, {"kv_splits": 3}),
        ({"tile_q": 24, "tile_kv": 40, "kv_splits": 1}, {}),
    ],
)
def test_what_is_cut_to_the_problem_is_told(params: dict[str, int], chosen: dict[str, int]) -> None:
    problem = AttentionProblem(heads=1, seq_q=24, seq_kv=40, head_dim=16)
    case = Case(problem=problem, variant="flash", target="cpu", params=params)
    assert plugins.variant("flash").chosen(case) == chosen
