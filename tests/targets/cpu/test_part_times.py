"""Stamps between the parts of a kernel: what parts are called, what is summed up, what stays as it is."""

import re
from pathlib import Path

import numpy as np
import pytest
from mlir import ir
from variants.native_runs import GENERATED, build

from harness.codegen.dialect.context import mlir_context
from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import make_inputs
from harness.targets.cpu import part_times
from harness.targets.cpu.chip import chip
from harness.targets.cpu.executable import NativeExecutable, load
from harness.targets.cpu.launch import OBJECT_FILE, Launch
from harness.targets.cpu.stages import CpuBuild
from harness.targets.cpu.stamps import SLOTS_OF_A_PART, TOTAL, Part, Work, stamp_parts

PROBLEM = AttentionProblem(heads=2, seq_q=64, head_dim=32)
TILES = {"tile_q": 32, "tile_kv": 16}


def on_host(module: ir.Module) -> CpuBuild:
    return CpuBuild(module, chip("host"))


def bufferized(variant: str, problem: AttentionProblem = PROBLEM) -> str:
    artifact, folder = build(variant, problem, params=TILES)
    return (folder / artifact.stage_files["bufferized"]).read_text()


def parts_of(variant: str, problem: AttentionProblem = PROBLEM) -> list[Part]:
    with mlir_context():
        return stamp_parts(ir.Module.parse(bufferized(variant, problem)))


def test_the_parts_of_flash_have_names_in_their_order() -> None:
    names = [part.name for part in parts_of("flash")]
    expected = [TOTAL, "packing and moving", "scores, QKᵀ", "maximum", "exponential", "rescale", "values, PV"]
    assert list(dict.fromkeys(names))[:7] == expected


def test_products_by_pairs_are_counted_for_their_unit() -> None:
    problem = PROBLEM.model_copy(update={"dtype": "bf16"})
    artifact, folder = build("flash", problem, target="cpu:avx512-bf16")
    with mlir_context():
        parts = stamp_parts(ir.Module.parse((folder / artifact.stage_files["bufferized"]).read_text()))
    work = {part.name: part.work for part in parts}
    products = problem.seq_q * problem.seq_kv * problem.head_dim
    assert work["scores, QKᵀ"] == work["values, PV"] == Work(unit_products=products)


def test_each_kernel_has_parts_of_its_own() -> None:
    kernels = {part.kernel: part.name for part in parts_of("unfused") if "packing" not in part.name}
    assert kernels == {"scores": "scores, QKᵀ", "softmax": "division", "values": "values, PV"}


def test_the_work_of_a_part_is_that_of_one_tile() -> None:
    work = {part.name: part.work for part in parts_of("flash")}
    pairs = TILES["tile_q"] * TILES["tile_kv"]
    assert work["scores, QKᵀ"] == work["values, PV"] == Work(pairs * PROBLEM.head_dim)
    assert work["maximum"] == Work(pairs)
    assert work["exponential"] == Work(2 * pairs, exponentials=pairs), "a scaling and a sum besides"
    assert work["rescale"] is None, "of data"


def test_an_exponential_takes_as_many_operations_as_its_expansion_has() -> None:
    assert part_times.operations_of_exponential(16) < part_times.operations_of_exponential(8) < 20


@pytest.mark.parametrize("variant", GENERATED)
def test_a_build_that_is_not_asked_to_has_no_stamps(variant: str) -> None:
    artifact, folder = build(variant, PROBLEM, params=TILES)
    assert "rdtsc" not in (folder / artifact.stage_files["assembly"]).read_text()


@pytest.mark.parametrize("causal", [False, True])
def test_sums_are_of_all_executions_and_the_output_is_the_same(causal: bool, tmp_path: Path) -> None:
    problem = PROBLEM.model_copy(update={"causal": causal})
    artifact, folder = build("flash", problem, params=TILES)
    with mlir_context():
        stamped, parts = part_times.stamped_build(
            on_host(ir.Module.parse(bufferized("flash", problem))), tmp_path
        )
    inputs = make_inputs(problem, "normal", 0)
    plain = load(artifact, folder).bind(inputs)
    launch = Launch(kernels=stamped.kernels, threads=1)
    call = NativeExecutable(problem, launch, tmp_path / OBJECT_FILE).bind(inputs)
    sums = call.scratch[: 8 * SLOTS_OF_A_PART * len(parts)].view(np.int64)
    sums[:] = 0
    call.run()
    plain.run()
    np.testing.assert_array_equal(call.output(), plain.output())
    cycles, executions = sums[::2], sums[1::2]
    points = PROBLEM.heads * PROBLEM.seq_q // TILES["tile_q"]
    tiles = points * (
        3 if causal else 4
    )  # of a causal mask the first queries see two tiles of keys, not four
    by_name: dict[str, int] = {}
    for part, count in zip(parts, executions, strict=True):
        by_name[part.name] = by_name.get(part.name, 0) + int(count)
    assert (by_name[TOTAL], by_name["scores, QKᵀ"], by_name["values, PV"]) == (points, tiles, tiles)
    assert 0 < cycles[1:].sum() <= cycles[0]


def test_ideal_cycles_follow_from_the_peak(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(part_times, "LEAST_S", 0.0)
    monkeypatch.setattr(part_times, "measure_peak", lambda unit, threads: 64e9)
    monkeypatch.setattr(part_times, "ticks_per_second", lambda: 2e9)
    artifact, folder = build("flash", PROBLEM, params=TILES)
    times = part_times.measure_parts(artifact, folder, tmp_path, "fma-f32", on_host)
    assert times.operations_per_cycle == 16
    (scores,) = [part for part in times.parts if part.name == "scores, QKᵀ"]
    assert scores.ideal_cycles == PROBLEM.heads * PROBLEM.seq_q * PROBLEM.seq_kv * PROBLEM.head_dim / 16
    assert times.calls == part_times.LEAST_CALLS


def test_counters_are_there_or_the_kernel_says_why_not() -> None:
    reason = part_times.why_no_counters()
    assert reason is None or re.match(r"perf_event_open: E\w+, |no perf_event_open", reason)
