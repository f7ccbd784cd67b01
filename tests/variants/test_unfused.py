"""What the kernels of `unfused` for GPUs keep in memory between them, and how they go over it."""

import re

import pytest
from codegen.payloads.ir_checks import check_ir
from emulated_runs import assert_right_on_emulator, built, text
from mlir import ir
from sweeps import sweep

from harness import plugins
from harness.codegen.costs.costs import Costs, total
from harness.codegen.costs.counter import count
from harness.codegen.dialect.context import mlir_context
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case, ParameterValue
from harness.system.errors import UnsupportedError
from harness.targets.lowering.vectorize import hoist_from_innermost_loops, vectorize

TARGETS = ("cuda:sm_80", "rocm:gfx942", "xegpu:bmg")
PROBLEM = AttentionProblem(heads=2, seq_q=128, seq_kv=256, head_dim=64, dtype="f16")
STATISTICS_BYTES = 16
"""Of each row: its maximum and its total, written and read."""

FORM = """
// CHECK: func.func @scores({{.*}}"scores"{{.*}}"maximum"
// CHECK: scf.for {{.*}} -> (tensor<64xf32>, tensor<64x256xf16>)
// CHECK: arith.truncf
// CHECK: arith.maximumf
// CHECK: func.func @softmax({{.*}}"scores"{{.*}}"maximum"{{.*}}"probabilities"{{.*}}"total"
// CHECK-NOT: arith.maximumf
// CHECK: scf.for {{.*}} -> (tensor<64xf32>, tensor<64x256xf16>)
// CHECK: math.exp2
// CHECK: arith.addf
// CHECK: arith.truncf
// CHECK-NOT: math.exp2
// CHECK: func.func @values({{.*}}"probabilities"{{.*}}"total"
// CHECK: scf.for {{.*}} -> (tensor<64x64xf32>)
// CHECK-NOT: scf.for
// CHECK: arith.divf
"""
"""Maxima come with the scores, totals with the probabilities, and division after the product with V."""


def kernels(target: str, problem: AttentionProblem = PROBLEM, **params: ParameterValue) -> ir.Module:
    case = Case(problem=problem, variant="unfused", target=target, params=params)
    return plugins.variant("unfused").kernels(case)


def test_each_kernel_goes_over_the_keys_once() -> None:
    with mlir_context():
        check_ir(kernels("cuda:sm_80"), FORM)


def traffic(target: str, problem: AttentionProblem = PROBLEM, **params: ParameterValue) -> Costs:
    """Return what kernels move once their tiles are vectors, which lanes hold."""
    with mlir_context():
        module = kernels(target, problem, **params)
        vectorize(module)
        hoist_from_innermost_loops(module)
        return total(count(module))


def bytes_of_scores(costs: Costs, problem: AttentionProblem) -> int:
    """Return the bytes that are moved of the score matrix and of the probabilities, statistics aside."""
    moved = sum(traffic.read + traffic.written for traffic in costs.workspace.values())
    return moved - STATISTICS_BYTES * problem.heads * problem.seq_q


@pytest.mark.parametrize(
    ("dtype", "params", "bytes_of_element"),
    [("f16", {}, 8), ("bf16", {}, 8), ("f16", {"scores": "f32"}, 12), ("f32", {}, 16)],
)
@pytest.mark.parametrize("target", sweep(TARGETS, but=["cuda:sm_80"]))
def test_scores_and_probabilities_are_written_and_read_once(
    target: str, dtype: str, params: dict, bytes_of_element: int
) -> None:
    problem = PROBLEM.model_copy(update={"dtype": dtype})
    costs = traffic(target, problem, tile_q=128, **params)
    assert bytes_of_scores(costs, problem) == bytes_of_element * 2 * 128 * 256


def test_an_exponential_is_computed_once_for_each_score() -> None:
    rows, scores = 2 * 128, 2 * 128 * 256
    assert scores <= traffic("cuda:sm_80").exp <= scores + 2 * rows


@pytest.mark.parametrize(
    ("fields", "params", "expected"),
    [
        ({}, {}, "f16"),
        ({"dtype": "bf16"}, {}, "bf16"),
        ({"bias": True}, {}, "f32"),
        ({"scale": 1e12}, {}, "f32"),
        ({"log_sum_exp": True}, {}, "f32"),
        ({"scale": 1e12}, {"scores": "input"}, "f16"),
        ({}, {"scores": "f32"}, "f32"),
    ],
)
def test_scores_that_f16_does_not_suffice_for_are_f32(fields: dict, params: dict, expected: str) -> None:
    problem = PROBLEM.model_copy(update=fields)
    with mlir_context():
        scores = kernels("cuda:sm_80", problem, **params).body.operations[0]
        buffers = {
            ir.StringAttr(ir.DictAttr(attributes)["harness.buffer"]).value: str(kind.element_type)
            for attributes, kind in zip(scores.arg_attrs, scores.type.inputs, strict=True)
        }
    assert (buffers["scores"], buffers["maximum"]) == (expected, "f32")
    chosen = plugins.variant("unfused").chosen(
        Case(problem=problem, variant="unfused", target="cuda:sm_80", params=params)
    )
    assert chosen.get("scores") == (None if params else "f32" if expected == "f32" else "input")


def test_whole_rows_of_scores_are_f32() -> None:
    case = Case(problem=PROBLEM, variant="unfused", target="cpu", params={"scores": "input"})
    with pytest.raises(UnsupportedError, match="scores=input: kernels for cpu keep whole rows"):
        plugins.variant("unfused").source(case)
    assert "scores" not in plugins.variant("unfused").chosen(case.model_copy(update={"params": {}}))


def test_each_access_to_scores_and_probabilities_takes_16_bytes() -> None:
    assembly = text(*built(PROBLEM, "cuda:sm_80", "unfused"), "assembly")
    scores, softmax, values = re.split(r"\.entry", assembly)[1:]
    accesses = {
        name: set(re.findall(r"\b(?:ld|st)\.global\S*|cp\.async\.c[ag]\S*", kernel))
        for name, kernel in (("scores", scores), ("softmax", softmax), ("values", values))
    }
    statistics = {"ld.global.b32", "st.global.b32"}
    assert accesses["scores"] - statistics == {"cp.async.cg.shared.global", "st.global.v4.b32"}
    assert accesses["softmax"] - statistics == {"ld.global.v4.b32", "st.global.v4.b32"}
    assert accesses["values"] - statistics == {"cp.async.cg.shared.global", "st.global.v4.b32"}


@pytest.mark.parametrize(("tiles", "staged"), [({}, 2), ({"tile_q": 128, "tile_kv": 256}, 1)])
def test_probabilities_pass_through_shared_memory_that_has_room_for_them(tiles: dict, staged: int) -> None:
    problem = PROBLEM.model_copy(update={"seq_kv": 512})
    stage = text(*built(problem, "cuda:sm_86", "unfused", **tiles), "staged")
    assert stage.split("@values")[1].count("memref.alloc()") == staged


@pytest.mark.parametrize("target", TARGETS)
def test_lengths_that_no_tile_divides_are_right(target: str) -> None:
    problem = PROBLEM.model_copy(update={"seq_q": 77, "seq_kv": 139, "causal": True})
    assert_right_on_emulator(*built(problem, target, "unfused"))
