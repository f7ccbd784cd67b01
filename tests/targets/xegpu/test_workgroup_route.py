"""MLIR's own route for Intel's GPUs: its stages, what they compute, and what they refuse."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from emulated_runs import assert_right_on_emulator
from live_registers import most_live
from mlir import ir
from sweeps import sweep

from harness import plugins
from harness.artifact.artifact import Artifact
from harness.bench.building.support import alternatives
from harness.codegen.dialect.context import mlir_context
from harness.emulator.findings import Report
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.system.errors import UnsupportedError
from harness.targets.xegpu import XegpuOptions
from harness.targets.xegpu.workgroup_route.tiles import REGISTERS

WHOLE = AttentionProblem(heads=2, seq_q=256, head_dim=64, dtype="f16")
GROUPED = AttentionProblem(
    batch=2, heads=2, kv_heads=1, seq_q=128, seq_kv=192, head_dim=128, head_dim_v=32, dtype="f16"
)
BF16 = AttentionProblem(heads=1, seq_q=128, head_dim=32, dtype="bf16")
CAUSAL = AttentionProblem(
    batch=2, heads=2, kv_heads=1, seq_q=130, seq_kv=70, head_dim=64, dtype="f16", causal=True
)
RAGGED = AttentionProblem(heads=2, seq_q=77, seq_kv=139, head_dim=32, head_dim_v=64, dtype="bf16")
TOP_LEFT = AttentionProblem(
    heads=1, seq_q=200, seq_kv=150, head_dim=64, dtype="f16", causal=True, causal_alignment="top-left"
)
CUT = AttentionProblem(heads=1, seq_q=128, seq_kv=200, head_dim=64, dtype="f16")
WIDE = AttentionProblem(heads=1, seq_q=96, seq_kv=300, head_dim=256, dtype="f16", causal=True, scale=-0.1)
SMALL = AttentionProblem(heads=1, seq_q=128, seq_kv=96, head_dim=32, dtype="f16")
EXAMPLE = AttentionProblem(batch=2, heads=8, seq_q=4096, head_dim=64, dtype="f16")
Options = Iterable[tuple[str, str]]
"""Of the target, besides the route."""
DOCUMENTED = (
    "initial",
    "outer-tiled",
    "vectorized",
    "bufferized",
    "inner-tiled",
    "gpu-outlining",
    "xegpu-initial",
    "xegpu-wg",
    "final",
)


def case_of(
    problem: AttentionProblem, variant: str = "flash", chip: str = "bmg", options: Options = (), **params
) -> Case:
    return Case(
        problem=problem,
        variant=variant,
        target=f"xegpu:{chip}",
        params=params,
        target_options={"route": "workgroup", **dict(options)},
    )


def build(
    problem: AttentionProblem, folder: Path, chip: str = "bmg", options: Options = (), **params
) -> Artifact:
    case = case_of(problem, chip=chip, options=options, **params)
    return plugins.variant("flash").build(case, "key", folder)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Artifact, Path]:
    """A build that several tests look at."""
    folder = tmp_path_factory.mktemp("whole")
    return build(WHOLE, folder), folder


def text_of(built: tuple[Artifact, Path], stage: str) -> str:
    artifact, folder = built
    return (folder / artifact.stage_files[stage]).read_text()


@pytest.mark.parametrize(
    ("problem", "chip", "params"),
    sweep(
        [
            (GROUPED, "pvc", {}),
            (BF16, "bmg", {}),
            (SMALL, "bmg", {"tile_q": 64, "tile_kv": 32}),
            (CAUSAL, "bmg", {}),
            (RAGGED, "pvc", {}),
            (TOP_LEFT, "bmg", {"tile_kv": 32}),
            (WIDE, "bmg", {}),
        ],
        but=[(SMALL, "bmg", {"tile_q": 64, "tile_kv": 32}), (CAUSAL, "bmg", {}), (RAGGED, "pvc", {})],
    ),
)
def test_it_is_right_for_other_widths_types_and_tiles(
    problem: AttentionProblem, chip: str, params: dict[str, int], tmp_path: Path
) -> None:
    assert_right_on_emulator(build(problem, tmp_path, chip, **params), tmp_path)


def test_the_stages_are_the_document_s_and_those_that_are_listed(whole: tuple[Artifact, Path]) -> None:
    artifact, _ = whole
    assert tuple(name for name in artifact.stage_files if name in DOCUMENTED) == DOCUMENTED
    variant, target = plugins.variant("flash"), plugins.target("xegpu")
    listed = (*variant.other_routes["grid-only"], *target.other_routes["route=workgroup"])
    assert [stage.name for stage in listed] == list(artifact.stage_files)


@pytest.mark.parametrize(
    ("stage", "present", "absent"),
    [
        ("bufferized", ["vector<128x256xf32>"], ["scf.for "]),  # keys are whole until they are tiled
        ("inner-tiled", ["%c0 to %c256 step %c64"], ["vector<128x256xf32>"]),
        ("xegpu-initial", [], ["sg_layout"]),
        ("xegpu-wg", ["sg_layout = [8, 1]", "sg_data = [16, 16]", "inst_data = [8, 16]"], []),
        ("xegpu-sg", [], ["sg_layout"]),
        ("xegpu-lane", [], ["warp_execute_on_lane_0"]),
    ],
)
def test_stages_leave_what_the_document_says(
    whole: tuple[Artifact, Path], stage: str, present: list[str], absent: list[str]
) -> None:
    text = text_of(whole, stage)
    assert all(part in text for part in present)
    assert not any(part in text for part in absent)


@pytest.mark.parametrize("problem", sweep([WHOLE, GROUPED, CAUSAL, WIDE, CUT], but=[WIDE]))
def test_a_sub_group_has_registers_enough(problem: AttentionProblem, tmp_path: Path) -> None:
    artifact = build(problem, tmp_path)
    with mlir_context():
        module = ir.Module.parse((tmp_path / artifact.stage_files["in-order"]).read_text())
        assert most_live(module) < REGISTERS
        before = ir.Module.parse((tmp_path / artifact.stage_files["masked"]).read_text())
        assert most_live(before) > most_live(module)


def test_hidden_tiles_are_left_out_and_not_counted(tmp_path: Path) -> None:
    problem = AttentionProblem(heads=1, seq_q=256, head_dim=64, dtype="f16", causal=True)
    artifact = build(problem, tmp_path)
    assert artifact.metrics.flops_executed == 2 * 128 * (128 + 256) * (64 + 64)
    text = (tmp_path / artifact.stage_files["masked"]).read_text()
    assert text.count("arith.select") == 2 * 4, "a fragment of scores each"


def test_each_iteration_prefetches_and_multiplies_a_tile(whole: tuple[Artifact, Path]) -> None:
    assert whole[0].metrics.workgroup_size == 128
    laid_out = text_of(whole, "xegpu-wg")
    loop = laid_out.split("scf.for ", 1)[1].split("scf.yield", 1)[0]
    assert laid_out.count("xegpu.prefetch_nd") == loop.count("xegpu.prefetch_nd") == 2
    products = 2 * 4 * 4 * 2  # two bands of rows, chunks of keys and of columns, both products
    assert text_of(whole, "xegpu-lane").count("xegpu.dpas") == products


def test_an_option_leaves_prefetches_out(tmp_path: Path) -> None:
    artifact = build(WHOLE, tmp_path, options=[("prefetches", "none")])
    assert "prefetch" not in (tmp_path / artifact.stage_files["xegpu-wg"]).read_text()
    chosen = plugins.variant("flash").chosen
    assert "prefetches" not in chosen(artifact.case)
    assert chosen(case_of(WHOLE))["prefetches"] == "next-tile"


def test_where_nothing_is_ragged_no_access_is_clamped(
    whole: tuple[Artifact, Path], reports: list[Report]
) -> None:
    assert_right_on_emulator(*whole)
    assert {(report.clamped_loads, report.clamped_stores) for report in reports} == {(0, 0)}


@pytest.mark.sweep
def test_the_documents_problem_builds_with_the_defaults(tmp_path: Path) -> None:
    artifact = build(EXAMPLE, tmp_path)
    assert artifact.why_not_run is None
    chosen = plugins.variant("flash").chosen(artifact.case)
    assert (chosen["tile_q"], chosen["tile_kv"]) == (128, 64)


@pytest.mark.parametrize("variant", ["naive", "unfused"])
def test_other_variants_are_unsupported_with_the_reason(variant: str) -> None:
    with pytest.raises(UnsupportedError, match="xegpu:bmg tiles the keys itself"):
        plugins.variant(variant).source(case_of(WHOLE, variant))


@pytest.mark.parametrize(
    ("changed", "params", "reason"),
    [
        ({"softcap": 5.0}, {}, "no cap of scores"),
        ({"seq_q": 20, "seq_kv": 256}, {}, "20 queries: expected at least 32"),
        ({"head_dim": 16}, {}, "head_dim 16: messages take rows of at least 32"),
        ({}, {"tile_q": 48}, "tile_q 48: expected a power of two from 32 on"),
        ({}, {"tile_kv": 40}, "tile_kv 40: expected a multiple of 16"),
        ({}, {"warps": 8}, "warps: sub-groups follow from tile_q"),
        ({}, {"division": "every-step"}, "divides once"),
        ({}, {"kv_splits": 2}, "in one part"),
    ],
)
def test_what_the_route_does_not_have_is_unsupported_with_the_reason(
    changed: dict[str, object], params: dict[str, object], reason: str
) -> None:
    fields = {"heads": 1, "seq_q": 256, "head_dim": 64, "dtype": "f16", **changed}
    with pytest.raises(UnsupportedError, match=reason):
        plugins.variant("flash").source(case_of(AttentionProblem(**fields), **params))


def test_a_hint_names_what_can_and_else_the_other_route() -> None:
    summed = WHOLE.model_copy(update={"log_sum_exp": True})
    elsewhere = [f"{variant} without route=workgroup" for variant in ("flash", "naive", "unfused")]
    for variant in ("flash", "naive", "unfused"):
        assert alternatives(case_of(summed, variant)) == elsewhere
    able = alternatives(case_of(WHOLE, "naive"))
    assert "flash" in able
    assert "unfused" not in able


def test_options_of_the_lane_route_are_refused() -> None:
    with pytest.raises(ValueError, match="query_operand: expected none of these with route=workgroup"):
        XegpuOptions(route="workgroup", query_operand="registers")


def test_the_lane_route_is_the_default_and_says_what_it_chose() -> None:
    assert XegpuOptions().route == "lane"
    case = case_of(WHOLE).model_copy(update={"target_options": {"route": "lane"}})
    chosen = plugins.variant("flash").chosen(case)
    assert "query_operand" in chosen
    assert "query_operand" not in plugins.variant("flash").chosen(case_of(WHOLE))
