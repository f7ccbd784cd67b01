import numpy as np
import pytest
from codegen.payloads.ir_checks import check_ir
from codegen.rewrites.execution import execute
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.codegen.dialect.context import mlir_context
from harness.codegen.dialect.verification import verify
from harness.codegen.payloads.attention import (
    attention_operation,
    multi_head_attention,
    multi_head_attention_with_prologue_projections,
    single_attention,
)
from harness.codegen.payloads.padded_sizes import PaddedSizes
from harness.oracle.expected import expect
from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import make_inputs

SMALL = AttentionProblem(heads=1, seq_q=4, seq_kv=6, head_dim=8)

LENGTHS = st.integers(1, 7)
FIELDS = {
    "seq_q": LENGTHS,
    "seq_kv": LENGTHS,
    "head_dim": LENGTHS,
    "head_dim_v": LENGTHS,
    "dtype": st.sampled_from(["f32", "f16", "bf16"]),
    "causal": st.booleans(),
    "causal_alignment": st.sampled_from(["bottom-right", "top-left"]),
    "scale": st.sampled_from([0.3, 1.0, -0.5, 0.0]),
}


def payload_text(payload, problem):
    with mlir_context():
        module = payload(problem)
        verify(module)
        return str(module)


def verdict(payload, problem):
    """Run a payload on normal inputs and let the oracle judge."""
    inputs = make_inputs(problem)
    buffers = inputs.buffers(problem)
    operands = [buffers[name] for name in ("query", "key", "value", "mask", "bias") if name in buffers]
    with mlir_context():
        (output,) = execute(payload(problem), [*operands, np.full(problem.output_shape, np.nan)], "attention")
    return expect(inputs, problem).check(output.reshape(problem.output_shape))


@settings(max_examples=10)
@given(st.builds(AttentionProblem, batch=st.just(1), heads=st.just(1), kv_heads=st.just(1), **FIELDS))
def test_single_attention_equals_the_oracle(problem):
    assert verdict(single_attention, problem).first_bad is None


@settings(max_examples=15)
@given(
    st.builds(
        AttentionProblem,
        batch=st.integers(1, 2),
        heads=st.sampled_from([2, 4]),
        kv_heads=st.sampled_from([1, 2]),
        **FIELDS,
    )
)
def test_multi_head_attention_equals_the_oracle(problem):
    assert verdict(multi_head_attention, problem).first_bad is None


@pytest.mark.parametrize(
    "fields",
    [
        {"kv_heads": 1, "dtype": "bf16"},
        {"mask": True, "bias": True, "batch": 2, "bias_axes": "hk"},
        {"mask": True, "mask_axes": "bk", "head_dim_v": 3, "scale": 0.3},
    ],
)
def test_attention_as_one_operation_equals_the_oracle(fields):
    problem = AttentionProblem(heads=2, seq_q=5, seq_kv=7, head_dim=4, **fields)
    result = verdict(attention_operation, problem)
    assert result.ok, result


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_half_precision_is_widened_first_and_narrowed_last(dtype):
    check_ir(
        payload_text(single_attention, SMALL.model_copy(update={"dtype": dtype})),
        f"""
        CHECK: arith.extf {{{{.*}}}} : {dtype} to f32
        CHECK: arith.extf {{{{.*}}}} : {dtype} to f32
        CHECK: arith.extf {{{{.*}}}} : {dtype} to f32
        CHECK: "attn.batch_matmul"{{{{.*}}}} -> tensor<4x6xf32>
        CHECK: "attn.batch_matmul"{{{{.*}}}} -> tensor<4x8xf32>
        CHECK: arith.truncf {{{{.*}}}} : f32 to {dtype}
        """,
    )


def test_grouped_queries_share_keys_by_a_broadcast():
    grouped = SMALL.model_copy(update={"heads": 6, "kv_heads": 2})
    check_ir(
        payload_text(multi_head_attention, grouped),
        """
        CHECK: func.func @attention(%{{.*}}: tensor<1x6x4x8xf32> {{{.*}}}, %{{.*}}: tensor<1x2x6x8xf32>
        CHECK: linalg.broadcast ins(%arg1 {{.*}} outs({{.*}} : tensor<1x2x3x6x8xf32>) dimensions = [2]
        CHECK: tensor.collapse_shape {{.*}} into tensor<1x6x6x8xf32>
        """,
    )


def test_rows_and_columns_are_padded_and_cut_off_in_the_type_that_is_stored():
    problem = SMALL.model_copy(update={"dtype": "f16"})
    with mlir_context():
        text = str(multi_head_attention(problem, PaddedSizes(queries=16, keys=8, head_dim=16, head_dim_v=24)))
    check_ir(
        text,
        """
        CHECK: tensor.pad %arg0
        CHECK: tensor<1x1x4x8xf16> to tensor<1x1x16x16xf16>
        CHECK: tensor.pad %arg1
        CHECK: tensor<1x1x6x8xf16> to tensor<1x1x8x16xf16>
        CHECK: tensor.pad %arg2
        CHECK: tensor<1x1x6x8xf16> to tensor<1x1x8x24xf16>
        CHECK: tensor.extract_slice {{.*}} : tensor<1x1x16x24xf16> to tensor<1x1x4x8xf16>
        """,
    )


def test_keys_that_are_added_are_hidden():
    with mlir_context():
        text = str(multi_head_attention(SMALL, PaddedSizes(queries=4, keys=8, head_dim=8, head_dim_v=8)))
    check_ir(
        text,
        """
        CHECK: [[KEYS:#map[0-9]*]] = affine_map<(d0, d1, d2, d3) -> (-d3 + 5)>
        CHECK: "attn.mask"
        CHECK-SAME: visible = [[KEYS]]
        """,
    )


def test_scores_are_capped_then_biased_then_masked():
    problem = AttentionProblem(
        heads=2, seq_q=4, seq_kv=6, head_dim=8, mask=True, bias=True, window=(3, 1), softcap=5.0, batch=2
    )
    check_ir(
        payload_text(multi_head_attention, problem),
        """
        CHECK: %arg3: tensor<2x4x6xi8> {harness.buffer = "mask"
        CHECK-SAME: %arg4: tensor<2x4x6xf32> {harness.buffer = "bias"
        CHECK: "attn.batch_matmul"
        CHECK: math.exp2
        CHECK: ins({{.*}}, %arg4
        CHECK: arith.addf
        CHECK: ins({{.*}}, %arg3
        CHECK: arith.select
        CHECK: "attn.mask"
        CHECK: "attn.softmax"
        """,
    )


def test_projections_split_heads_and_transpose_keys():
    projected = AttentionProblem(heads=4, kv_heads=2, seq_q=6, head_dim=8, model_width=24)
    check_ir(
        payload_text(multi_head_attention_with_prologue_projections, projected),
        r"""
        CHECK: linalg.broadcast ins(%arg1 {{.*}} dimensions = [0]
        CHECK: "attn.batch_matmul"(%arg0, {{.*}} -> tensor<1x6x32xf32>
        CHECK: tensor.expand_shape {{.*}} {{\[}}[0], [1], [2, 3]] output_shape [1, 6, 4, 8]
        CHECK: linalg.transpose {{.*}} permutation = [0, 2, 1, 3]
        CHECK: linalg.broadcast ins(%arg2
        CHECK: linalg.transpose {{.*}} permutation = [0, 2, 3, 1]
        CHECK: linalg.broadcast ins(%arg3
        CHECK: linalg.transpose {{.*}} permutation = [0, 2, 1, 3]
        """,
    )
