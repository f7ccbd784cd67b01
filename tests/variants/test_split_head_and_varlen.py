"""The variants that are about projections and about packed sequences."""

import numpy as np
import pytest
from sweeps import sweep
from variants.forms import stages
from variants.native_runs import judge

from harness import plugins
from harness.codegen.costs.costs import total
from harness.codegen.costs.counter import count
from harness.codegen.dialect.context import mlir_context
from harness.oracle.expected import expect
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.problem.inputs import make_inputs
from harness.system.errors import UnsupportedError

SKEWED = {"cu_seqlens_q": (0, 1, 1, 40, 240, 257), "cu_seqlens_kv": (0, 7, 9, 60, 260, 260)}
FEW_TOKENS = {"cu_seqlens_q": (0, 0, 3), "cu_seqlens_kv": (0, 5, 5)}
EQUAL = {"cu_seqlens_q": (0, 64, 128, 192), "cu_seqlens_kv": (0, 64, 128, 192)}
ONE = {"cu_seqlens_q": (0, 90), "cu_seqlens_kv": (0, 200)}
KEY_HEADS_AND_MASKS = [(1, False), (1, True), (2, False), (2, True)]
LENGTHS = {"skewed": SKEWED, "few": FEW_TOKENS, "equal": EQUAL, "one": ONE}


@pytest.mark.parametrize("lengths", sweep(LENGTHS, but=["few"]))
@pytest.mark.parametrize(("kv_heads", "causal"), sweep(KEY_HEADS_AND_MASKS, but=[(1, True)]))
def test_packed_sequences_are_attention_of_each(lengths, causal, kv_heads):
    problem = AttentionProblem(heads=2, kv_heads=kv_heads, head_dim=32, causal=causal, **LENGTHS[lengths])
    assert judge("varlen", problem).first_bad is None


@pytest.mark.parametrize("dtype", sweep(["f16", "bf16"], but=["f16"]))
@pytest.mark.parametrize("distribution", ["normal", "large-logits", "minus-infinity-columns"])
@pytest.mark.parametrize(
    ("variant", "fields"), [("varlen", SKEWED), ("split-head", {"seq_q": 77, "model_width": 16})]
)
def test_half_precision(variant, fields, dtype, distribution):
    problem = AttentionProblem(heads=2, head_dim=32, dtype=dtype, causal=True, **fields)
    assert judge(variant, problem, distribution).first_bad is None


@pytest.mark.parametrize("scale", sweep([1e9, -1e9, 1e20], but=[-1e9]))
@pytest.mark.parametrize(
    ("variant", "fields"),
    sweep([("varlen", SKEWED), ("split-head", {"seq_q": 77, "model_width": 16})], but=[("varlen", SKEWED)]),
)
def test_large_scales_are_right(variant, fields, scale):
    problem = AttentionProblem(heads=2, head_dim=32, causal=True, scale=scale, **fields)
    assert judge(variant, problem).first_bad is None


def test_the_kernel_reads_the_lengths():
    """The same kernels serve all lengths with the same sum."""
    texts = {
        stages("varlen", seq_q=None, seq_kv=None, cu_seqlens_q=starts, cu_seqlens_kv=starts)["tiled"]
        for starts in ((0, 10, 64), (0, 33, 64))
    }
    assert len(texts) == 1


def test_packed_sequences_do_not_compute_what_lies_between_them():
    """Sequences of one tile each: one key tile for each query tile, not all of them."""
    starts = tuple(range(0, 129, 16))
    problem = AttentionProblem(heads=1, head_dim=8, cu_seqlens_q=starts, cu_seqlens_kv=starts)
    case = Case(problem=problem, variant="varlen", target="cpu", params={"tile_q": 16, "tile_kv": 16})
    known = {"cu_seqlens_q": np.array(starts), "cu_seqlens_kv": np.array(starts)}
    with mlir_context():
        kernels = plugins.variant("varlen").kernels(case)
        assert total(count(kernels, known=known)).matmul == problem.flops()


@pytest.mark.parametrize("seq", sweep([13, 64, 77, 200], but=[77]))
@pytest.mark.parametrize(("kv_heads", "causal"), sweep(KEY_HEADS_AND_MASKS, but=[(2, True)]))
def test_projected_heads_are_attention_of_the_projections(seq, causal, kv_heads):
    problem = AttentionProblem(
        batch=2, heads=2, kv_heads=kv_heads, seq_q=seq, head_dim=32, causal=causal, model_width=48
    )
    assert judge("split-head", problem).first_bad is None


@pytest.mark.parametrize("projections", ["fused", "before"])
@pytest.mark.parametrize("is_output_projected", sweep([False, True], but=[True]))
@pytest.mark.parametrize(
    ("heads", "kv_heads", "seq", "width"),
    sweep([(4, 2, 77, 100), (1, 1, 33, 33), (2, 2, 1, 200), (2, 2, 5, 5)], but=[(4, 2, 77, 100)]),
)
def test_projections_within_or_before_are_right(
    heads, kv_heads, seq, width, is_output_projected, projections
):
    problem = AttentionProblem(
        batch=2, heads=heads, kv_heads=kv_heads, seq_q=seq, head_dim=24, head_dim_v=40, model_width=width,
        output_projection=is_output_projected, causal=True,
    )  # fmt: skip
    assert judge("split-head", problem, params={"projections": projections}).first_bad is None


@pytest.mark.parametrize("ranks", sweep([2, 4], but=[2]))
def test_ranks_share_out_the_heads(ranks, tmp_path):
    problem = AttentionProblem(
        heads=4, kv_heads=2, seq_q=40, head_dim=16, model_width=24, output_projection=True, sinks=True
    )
    case = Case(problem=problem, variant="split-head", target="cpu", params={"ranks": ranks})
    artifact = plugins.variant("split-head").build(case, "key", tmp_path)
    assert (artifact.ranks, artifact.case) == (ranks, case)
    assert artifact.metrics.flops_executed >= problem.flops()
    inputs = make_inputs(problem)
    call = artifact.load(tmp_path).bind(inputs)
    call.poison()
    call.run()
    assert expect(inputs, problem).check_outputs(call.outputs()).ok


def test_heads_that_cannot_be_shared_out_are_refused_with_the_reason():
    problem = AttentionProblem(heads=4, seq_q=40, head_dim=16, model_width=24)
    case = Case(problem=problem, variant="split-head", target="cpu", params={"ranks": 3})
    with pytest.raises(UnsupportedError, match="4 heads cannot be shared out evenly among 3 ranks"):
        plugins.variant("split-head").source(case)


def test_heads_that_share_keys_are_projected_once_before():
    def executed(kv_heads, projections):
        problem = AttentionProblem(
            heads=4, kv_heads=kv_heads, seq_q=64, head_dim=16, dtype="f16", model_width=32
        )
        case = Case(problem=problem, variant="split-head", target="cpu", params={"projections": projections})
        with mlir_context():
            return total(count(plugins.variant("split-head").kernels(case))).matmul, problem.flops()

    once, needed = executed(1, "before")
    assert once == needed
    again, _ = executed(1, "fused")
    assert again == needed + 3 * 2 * 64 * 32 * (16 + 16)


@pytest.mark.parametrize(
    ("variant", "fields", "reason"),
    [
        ("split-head", {}, "split-head is about the projections: the problem needs a model_width"),
        ("varlen", {}, "varlen is about packed sequences: the problem needs cu_seqlens_q and cu_seqlens_kv"),
        ("varlen", {"cu_seqlens_q": (0, 4), "cu_seqlens_kv": (0, 0)}, "all sequences are empty"),
        (
            "flash",
            {"model_width": 16},
            "prologue projections (model_width) is not part of this variant's payload",
        ),
    ],
)
def test_other_problems_are_refused_with_the_reason(variant, fields, reason):
    lengths = {} if "cu_seqlens_q" in fields else {"seq_q": 4}
    problem = AttentionProblem(heads=1, head_dim=8, **lengths, **fields)
    assert plugins.variant(variant).supports(problem, "cpu") == reason
