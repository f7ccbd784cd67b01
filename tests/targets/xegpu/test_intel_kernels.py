"""The variants' kernels for Intel's GPUs: built, executed by the emulator, and compared with the oracle."""

import re

import pytest
from emulated_runs import assert_right_on_emulator, built
from spirv_loops import counted
from sweeps import sweep

from harness import plugins
from harness.emulator.findings import Report
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case

WHOLE = AttentionProblem(heads=2, seq_q=128, head_dim=64, dtype="f16")
RAGGED = AttentionProblem(heads=1, seq_q=100, head_dim=64, dtype="f16", causal=True)
FEW_QUERIES = AttentionProblem(heads=2, seq_q=21, seq_kv=150, head_dim=64, dtype="f16")


@pytest.mark.parametrize("variant", sweep(["flash", "naive", "unfused"], but=["flash"]))
def test_where_nothing_is_ragged_no_access_is_clamped(variant: str, reports: list[Report]) -> None:
    assert_right_on_emulator(*built(WHOLE, "xegpu:bmg", variant))
    assert {(report.clamped_loads, report.clamped_stores) for report in reports} == {(0, 0)}


def test_rows_beyond_the_queries_of_a_head_are_clamped_and_not_the_next_heads(reports: list[Report]) -> None:
    assert_right_on_emulator(*built(FEW_QUERIES, "xegpu:bmg"))
    rows = 32 - FEW_QUERIES.seq_q  # of four sub-groups, 8 each
    beyond = 2 * FEW_QUERIES.heads * rows * FEW_QUERIES.head_dim  # in two orders of lanes
    loads, stores = reports[0].clamped_loads, reports[0].clamped_stores
    assert loads == beyond
    assert len(reports) > 1 or stores == beyond


def test_tiles_come_and_go_in_blocks_and_probabilities_stay() -> None:
    artifact, folder = built(WHOLE, "xegpu:bmg")
    distributed = (folder / artifact.stage_files["distributed"]).read_text()
    assert "vector.load" not in distributed
    assert "vector.store" not in distributed
    names = re.findall(r"xegpu\.\w+", distributed)
    assert {"xegpu.load_nd", "xegpu.dpas", "xegpu.store_nd"} <= set(names)
    for product in re.findall(r"xegpu\.dpas (%\w+),", distributed):
        (source,) = re.findall(rf"{product} = (\S+)", distributed)
        assert source in ("arith.truncf", "xegpu.load_nd", "vector.extract_strided_slice")


def test_arrays_of_lanes_are_declared_once_with_a_constant_size() -> None:
    artifact, folder = built(RAGGED, "xegpu:bmg")
    code = (folder / artifact.stage_files["llvm-ir"]).read_text()
    body = code[code.index("define spir_kernel") :]
    last_array, first_branch = body.rindex("= alloca ["), body.index("br label")
    assert last_array < first_branch
    assert body.count("= alloca ") == body.count("= alloca [")


@pytest.mark.parametrize("causal", sweep([False, True], but=[True]), ids=["full", "causal"])
def test_two_bands_of_rows_share_each_load_of_keys(causal: bool) -> None:
    problem = AttentionProblem(heads=1, seq_q=160, head_dim=64, dtype="bf16", causal=causal)
    artifact, folder = built(problem, "xegpu:bmg", tile_q=128)
    code = (folder / artifact.stage_files["llvm-ir"]).read_text()
    calls = re.findall(r"call .*?_(read_transpose|read_transform|matrix_mad)_", code)
    for load, products in (("read_transpose", 2), ("read_transform", 4)):  # of K, and two at once of V
        assert calls.count("matrix_mad") == 2 * products * calls.count(load)
    assert_right_on_emulator(artifact, folder)


@pytest.mark.sweep
def test_wide_queries_are_loaded_again_for_each_tile_of_keys() -> None:
    problem = AttentionProblem(heads=1, seq_q=128, head_dim=128, dtype="f16")
    artifact, folder = built(problem, "xegpu:bmg", tile_q=128)
    loop = (folder / artifact.stage_files["read-again"]).read_text().split("scf.for", 1)[1]
    assert "vector.transfer_read %arg0" in loop
    assert_right_on_emulator(artifact, folder)


@pytest.mark.sweep
def test_wide_queries_are_loaded_again_for_a_last_tile_behind_the_loop() -> None:
    problem = AttentionProblem(heads=1, seq_q=128, seq_kv=100, head_dim=128, dtype="f16")
    artifact, folder = built(problem, "xegpu:bmg", tile_q=128)
    code = (folder / artifact.stage_files["read-again"]).read_text()
    before, _, rest = code.partition("scf.for ")
    assert "vector.transfer_read %arg0" not in before
    assert rest.count("vector.transfer_read %arg0") == 2
    assert_right_on_emulator(artifact, folder)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("head_dim", "seq"), [(64, 1024), (64, 1000), (128, 1024)])
def test_two_bands_of_rows_are_chosen_where_there_are_enough(head_dim: int, seq: int, causal: bool) -> None:
    problem = AttentionProblem(heads=32, seq_q=seq, head_dim=head_dim, dtype="f16", causal=causal)
    case = Case(problem=problem, variant="flash", target="xegpu:bmg")
    assert plugins.variant("flash").chosen(case)["tile_q"] == 128


def test_metrics_are_read_off_the_module() -> None:
    artifact, folder = built(WHOLE, "xegpu:bmg")
    metrics = artifact.metrics
    assert metrics.intrinsics == "intel_sub_group_f16_f16_matrix_mad_k16"
    assert metrics.workgroup_size == 8 * 16
    # In a loop over 64 keys: 8 rows, 4 fragments of keys and of columns, 4 steps of each product.
    assert metrics.instructions["matrix"] == 32
    assert metrics.instructions["shuffle"] == 2 * 4 * 8  # a maximum in the loop, a sum after it
    assert metrics.code_bytes == (folder / "kernels.spv").stat().st_size


@pytest.mark.parametrize(
    ("head_dim", "pages"),
    sweep([(64, {}), (64, {"page_size": 128}), (128, {}), (128, {"page_size": 128})], but=[(64, {})]),
)
def test_packed_rows_take_about_the_operations_of_others(head_dim: int, pages: dict) -> None:
    starts = (0, 512, 1024)
    packed = {"cu_seqlens_q": starts, "cu_seqlens_kv": starts}
    counts = []
    for variant, lengths in (("varlen", packed), ("flash", {"batch": 2, "seq_q": 512})):
        problem = AttentionProblem(heads=8, head_dim=head_dim, dtype="f16", **lengths)
        artifact, folder = built(problem, "xegpu:bmg", variant, **(pages if variant == "varlen" else {}))
        counts.append(counted((folder / artifact.stage_files["assembly"]).read_text()))
    of_packed, of_others = counts
    assert of_packed["matrix"] == of_others["matrix"]
    assert sum(of_packed.values()) <= 1.1 * sum(of_others.values())
    for name in ("global", "shuffle", "special", "convert", "float"):
        assert of_packed[name] <= 1.1 * of_others[name]
