"""Counts of whole kernels against formulas and across the stages of the CPU target."""

import numpy as np
import pytest
from mlir import ir
from sweeps import sweep

from harness import plugins
from harness.codegen.costs.costs import Costs, Traffic, total
from harness.codegen.costs.counter import count
from harness.codegen.dialect.context import mlir_context
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.problem.dtypes import itemsize

TARGET = "cpu:avx2"
LANES = 8
QUERY_TILE, KEY_TILE = 16, 32
SIZES = {"tile_q": QUERY_TILE, "tile_kv": KEY_TILE}

PROBLEMS = {
    "full": {"seq_q": 64, "seq_kv": 96},
    "causal": {"seq_q": 96, "causal": True},
    "ragged": {"seq_q": 50, "seq_kv": 75, "head_dim_v": 12},
    "ragged-causal": {"seq_q": 50, "seq_kv": 75, "causal": True},
    "top-left": {"seq_q": 64, "seq_kv": 128, "causal": True, "causal_alignment": "top-left"},
    "no-key-seen": {"seq_q": 128, "seq_kv": 64, "causal": True},
    "grouped": {"seq_q": 48, "heads": 4, "kv_heads": 2, "batch": 2, "dtype": "f16", "causal": True},
    "short": {"seq_q": 5, "seq_kv": 75},
}
NAMES = sweep(PROBLEMS, but=["ragged-causal", "short"])
VARIANTS = ("flash", "naive", "unfused")

EXPANDED = "exponential"
"""From this stage on, exponentials are polynomials."""


def problem_named(name: str) -> AttentionProblem:
    return AttentionProblem(**{"heads": 2, "head_dim": 16, **PROBLEMS[name]})


@pytest.fixture(scope="module")
def stages(tmp_path_factory: pytest.TempPathFactory):
    """From variant and problem to the costs of every stage that can be counted, in order."""
    found: dict[tuple[str, str], dict[str, Costs]] = {}

    def costs(variant: str, name: str) -> dict[str, Costs]:
        if (variant, name) not in found:
            case = Case(problem=problem_named(name), variant=variant, target=TARGET, params=SIZES)
            folder = tmp_path_factory.mktemp(variant)
            artifact = plugins.variant(variant).build(case, "key", folder)
            points = {kernel["name"]: kernel["points"] for kernel in artifact.launch["kernels"]}
            names = list(artifact.stage_files)
            countable = names[names.index("tiled") : names.index("llvm")]
            texts = {stage: (folder / artifact.stage_files[stage]).read_text() for stage in countable}
            found[variant, name] = {stage: counted(text, points) for stage, text in texts.items()}
        return found[variant, name]

    return costs


def counted(text: str, points: dict[str, int]) -> Costs:
    with mlir_context():
        return total(count(ir.Module.parse(text), points=points))


class Tiles:
    """The tiles of a problem, laid out independently of the variants."""

    def __init__(self, problem: AttentionProblem) -> None:
        self.problem = problem
        self.rows = min(QUERY_TILE, problem.seq_q)
        self.padded_rows = -(-self.rows // LANES) * LANES
        self.keys = min(KEY_TILE, problem.seq_kv)
        starts = range(0, problem.seq_q, self.rows)
        self.first_queries = [min(start, problem.seq_q - self.rows) for start in starts]
        self.key_tiles = len(range(0, problem.seq_kv, self.keys))
        self.planes = problem.batch * problem.heads

    def visited(self) -> int:
        """Key tiles of one head that hold a key which some query of the tile sees."""
        seen = 0
        for first in self.first_queries:
            queries = np.arange(first, first + self.rows)
            _, end = self.problem.visible_range(queries, self.problem.seq_q, self.problem.seq_kv)
            seen += -(-int(end.max()) // self.keys)
        return seen


@pytest.mark.parametrize("name", sweep(["ragged-causal", "grouped", "short"], but=["ragged-causal", "short"]))
@pytest.mark.parametrize("variant", VARIANTS)
class TestAcrossStages:
    def test_products_stay_until_they_become_fused_multiply_adds(self, stages, variant, name):
        found = stages(variant, name)
        names = list(found)
        lowered = names[names.index("vector-lowered") :]
        for stage in names:
            assert found[stage].matmul == (0 if stage in lowered else found["tiled"].matmul), stage
        unexpanded = names[: names.index(EXPANDED)]
        assert len({found[stage].matmul + found[stage].fma for stage in unexpanded}) == 1

    def test_a_vectorised_kernel_executes_what_the_tiled_one_does(self, stages, variant, name):
        found = stages(variant, name)
        tiled, vectorized = found["register-tiled"], found["hoisted"]
        assert vectorized.matmul == tiled.matmul == found["lanes"].matmul
        assert vectorized.fma == tiled.fma == found["lanes"].fma
        # Equal subexpressions of a row's statistics are merged on the way.
        assert found["lanes"].other == tiled.other
        assert 0.99 * tiled.other <= vectorized.other <= tiled.other

    def test_an_exponential_becomes_a_polynomial(self, stages, variant, name):
        found = stages(variant, name)
        before, after = found["native-vectors"], found[EXPANDED]
        assert before.exp > 0
        assert after.exp == 0
        assert after.fma - before.fma == 2 * 5 * before.exp
        assert after.other - before.other == (2 * 5 + 4) * before.exp

    def test_main_memory_is_moved_by_the_same_amount_at_every_stage_of_the_target(
        self, stages, variant, name
    ):
        problem = problem_named(name)
        tiles = Tiles(problem)
        rows = itemsize(problem.dtype) * tiles.planes * len(tiles.first_queries) * tiles.rows
        found = stages(variant, name)
        for stage, costs in found.items():
            assert costs.arguments["output"] == Traffic(written=rows * problem.head_dim_v), stage
            assert costs.undetermined == Traffic(), stage
        names = list(found)
        for stage in names[names.index("lanes") :]:
            assert found[stage].arguments == found["lanes"].arguments, stage

    def test_memory_is_moved_by_the_same_amount_once_it_is_memory(self, stages, variant, name):
        found = stages(variant, name)
        names = list(found)
        last = [found[stage] for stage in names[names.index("bufferized") :]]
        assert len({costs.scratch.total for costs in last}) == 1
        assert len({costs.main_memory.total for costs in last}) == 1


@pytest.mark.parametrize("name", NAMES)
def test_flash_moves_what_its_tiles_hold(stages, name):
    problem = problem_named(name)
    tiles = Tiles(problem)
    size = itemsize(problem.dtype)
    keys = size * tiles.planes * tiles.visited() * tiles.keys
    found = stages("flash", name)["tiled"].arguments
    assert found["key"] == Traffic(read=keys * problem.head_dim)
    assert found["value"] == Traffic(read=keys * problem.head_dim_v)
    queries = size * tiles.planes * tiles.rows
    assert found["output"] == Traffic(written=queries * len(tiles.first_queries) * problem.head_dim_v)
    # A tile of Q is read once where it is copied first, else by the product with each key tile.
    times = (len(tiles.first_queries), tiles.visited())
    assert found["query"] in [Traffic(read=queries * count * problem.head_dim) for count in times]


def test_only_the_unfused_form_moves_scores_between_kernels(stages):
    problem = problem_named("full")
    scores = 4 * problem.heads * problem.seq_q * problem.seq_kv
    (moved,) = stages("unfused", "full")["tiled"].workspace.values()
    assert moved.written % scores == 0 < moved.written
    assert moved.read % scores == 0 < moved.read
    assert stages("flash", "full")["tiled"].workspace == {}
