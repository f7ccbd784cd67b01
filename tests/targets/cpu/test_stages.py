"""The whole CPU pipeline on real kernels: what holds of each stage's output for every variant."""

import math
import re

import pytest
from sweeps import sweep
from variants.native_runs import GENERATED, build

from harness import plugins
from harness.problem.attention_problem import AttentionProblem
from harness.targets.cpu.launch import Launch
from harness.targets.cpu.object_code import library_calls

EACH_VARIANT = pytest.mark.parametrize("variant", GENERATED)
PROBLEM = AttentionProblem(heads=2, seq_q=77, head_dim=32, causal=True)
"""Also what the tests of the numbers use, so that it is built once."""


def stage_text(variant: str, stage: str, target: str = "cpu", problem: AttentionProblem = PROBLEM) -> str:
    """Return what a stage of a build left behind."""
    artifact, folder = build(variant, problem, target=target)
    return (folder / artifact.stage_files[stage]).read_text()


def innermost_loops(text: str) -> list[str]:
    """Return the `scf.for` lines of loops that hold no other loop, by indentation."""
    lines = text.splitlines()
    loops = []
    for number, line in enumerate(lines):
        if "scf.for " in line:
            indent = len(line) - len(line.lstrip())
            body = lines[number + 1 :]
            end = next(i for i, other in enumerate(body) if other.startswith(" " * indent + "}"))
            if not any("scf.for" in inner for inner in body[:end]):
                loops.append(line)
    return loops


@EACH_VARIANT
@pytest.mark.parametrize(
    ("stage", "present", "absent"),
    [
        ("native-vectors", ["math.exp2"], []),
        ("exponential", [], ["math.exp2"]),
        ("vectorized", [], ["linalg."]),
        ("vector-lowered", ["vector.fma"], ["arith.maximumf", "vector.contract", "vector.transfer"]),
    ],
)
def test_stages_leave_nothing_of_what_they_lower(variant, stage, present, absent):
    text = stage_text(variant, stage)
    assert all(name in text for name in present)
    assert not any(name in text for name in absent)


@EACH_VARIANT
def test_contractions_accumulate_in_vectors_that_their_loop_carries(variant):
    text = stage_text(variant, "hoisted")
    contractions = re.findall(r"vector\.contract .*%(\w+) : vector", text)
    loops = [loop for loop in innermost_loops(text) if "-> (vector<" in loop]
    carried = {name for loop in loops for name in re.findall(r"%(\w+) = ", loop.partition("iter_args")[2])}
    assert contractions
    assert set(contractions) <= carried


def test_naive_still_recomputes_the_row_inside_the_key_loop():
    lines = stage_text("naive", "hoisted").splitlines()
    indents = [len(line) - len(line.lstrip()) for line in lines if "vector.contract" in line]
    recomputed, scores, values = indents
    assert recomputed > scores
    key_loop = min(len(line) - len(line.lstrip()) for line in lines if "scf.for " in line)
    assert min(recomputed, scores, values) > key_loop


@EACH_VARIANT
def test_kernels_write_in_place_and_allocate_nothing(variant):
    text = stage_text(variant, "threaded")
    assert "memref.alloc" not in text
    assert "->" not in "".join(line for line in text.splitlines() if "func.func" in line)
    assert set(re.findall(r"^    (?:func\.)?return.*$", text, re.M)) == {"    return"}


@EACH_VARIANT
def test_scratch_pieces_lie_at_cache_lines_and_do_not_overlap(variant):
    artifact, _ = build(variant, PROBLEM)
    kernels = Launch.model_validate(artifact.launch).kernels
    functions = stage_text(variant, "threaded").split("func.func @")[1:]
    for kernel, text in zip(kernels, functions, strict=True):
        assert text.startswith(kernel.name)
        constants = dict(re.findall(r"%(\w+) = arith\.constant (\d+) : index", text))
        views = re.findall(r"memref\.view %\w+\[%(\w+)\].* to memref<([\dx]+)xf32", text)
        end = 0
        for offset, shape in sorted((int(constants[name]), shape) for name, shape in views):
            assert offset % 64 == 0
            assert offset >= end
            end = offset + 4 * math.prod(map(int, shape.split("x")))
        assert end <= kernel.scratch_bytes


@EACH_VARIANT
def test_kernels_cover_the_grid(variant):
    artifact, _ = build(variant, PROBLEM)
    tiles = -(-PROBLEM.seq_q // plugins.variant(variant).tiling(artifact.case).query)
    points = [kernel.points for kernel in Launch.model_validate(artifact.launch).kernels]
    assert points == [2 * tiles] * (3 if variant == "unfused" else 1)


def test_workspace_bytes_count_the_score_matrix_and_each_thread_s_scratch():
    artifact, _ = build("unfused", PROBLEM)
    launch = Launch.model_validate(artifact.launch)
    matrix = next(buffer for buffer in launch.kernels[0].buffers if buffer.is_workspace)
    assert matrix.shape[:2] == (1, 2)
    elements = math.prod(matrix.shape)
    scratch = max(kernel.scratch_bytes for kernel in launch.kernels)
    two = Launch.model_validate(build("unfused", PROBLEM, threads=2)[0].launch)
    assert launch.workspace_bytes == artifact.metrics.workspace_bytes == 4 * elements + scratch
    assert two.workspace_bytes == 4 * elements + 2 * scratch


@pytest.mark.parametrize(
    ("variant", "dtype", "target", "registers"),
    sweep(
        [
            ("flash", "bf16", "cpu:avx2", "ymm"),
            ("naive", "f32", "cpu:avx2", "ymm"),
            ("unfused", "bf16", "cpu:avx2", "ymm"),
            ("flash", "f32", "cpu:avx512", "zmm"),
        ],
        but=[("flash", "bf16", "cpu:avx2", "ymm"), ("flash", "f32", "cpu:avx512", "zmm")],
    ),
)
def test_machine_code_multiplies_and_adds_in_one_and_calls_no_library(variant, dtype, target, registers):
    problem = PROBLEM.model_copy(update={"dtype": dtype})
    assembly = stage_text(variant, "assembly", target, problem)
    assert re.search(rf"vfmadd\w+ps\s.*{registers}", assembly)
    assert ("zmm" in assembly) is (registers == "zmm")
    assert not [name for name in library_calls(assembly) if not name.startswith("mem")]
    artifact, folder = build(variant, problem, target=target)
    assert 0 < artifact.metrics.code_bytes < (folder / "kernels.o").stat().st_size
