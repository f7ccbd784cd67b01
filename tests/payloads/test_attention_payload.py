import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from payloads.ir_checks import check_ir
from payloads.plain_execution import run_plainly

from harness.dtypes import numpy_dtype
from harness.inputs import make_inputs
from harness.mlir_context import mlir_context
from harness.oracle import expect
from harness.payloads.attention import (
    multi_head_attention,
    single_attention,
    unsupported_by_payload,
)
from harness.problem import AttentionProblem

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
        assert module.operation.verify()
        return str(module)


def verdict(payload, problem):
    """Run a payload on normal inputs and let the oracle judge."""
    inputs = make_inputs(problem)
    output = np.full(problem.output_shape, np.nan, numpy_dtype(problem.dtype))
    with mlir_context():
        run_plainly(payload(problem), "attention", [inputs.q, inputs.k, inputs.v], output)
    return expect(inputs, problem).check(output)


@settings(max_examples=10, deadline=None)
@given(st.builds(AttentionProblem, batch=st.just(1), heads=st.just(1), kv_heads=st.just(1), **FIELDS))
def test_single_attention_equals_the_oracle(problem):
    assert verdict(single_attention, problem).first_bad is None


@settings(max_examples=15, deadline=None)
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


def test_one_contraction_for_each_product():
    text = payload_text(single_attention, SMALL)
    assert text.count('["parallel", "parallel", "reduction"]') == 2
    check_ir(
        text,
        """
        CHECK-LABEL: func.func @attention(
        CHECK-SAME: tensor<4x8xf32>, %{{.*}}: tensor<6x8xf32>, %{{.*}}: tensor<6x8xf32>) -> tensor<4x8xf32>
        CHECK: ["parallel", "parallel", "reduction"]{{.*}}outs({{.*}}tensor<4x6xf32>)
        CHECK: math.exp
        CHECK: ["parallel", "parallel", "reduction"]{{.*}}outs({{.*}}tensor<4x8xf32>)
        CHECK: arith.divf
        """,
    )


def test_row_statistics_are_reductions_over_the_keys():
    check_ir(
        payload_text(single_attention, SMALL),
        """
        CHECK: linalg.generic {{.*}}["parallel", "reduction"]{{.*}}outs({{.*}}tensor<4xf32>)
        CHECK: arith.maximumf
        CHECK: math.exp
        CHECK: linalg.generic {{.*}}["parallel", "reduction"]{{.*}}outs({{.*}}tensor<4xf32>)
        CHECK: arith.addf
        """,
    )


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_half_precision_accumulates_in_f32(dtype):
    check_ir(
        payload_text(single_attention, SMALL.model_copy(update={"dtype": dtype})),
        f"""
        CHECK: linalg.generic {{{{.*}}}}tensor<4x8x{dtype}>, tensor<6x8x{dtype}>)
        CHECK-SAME: outs({{{{.*}}}}tensor<4x6xf32>)
        CHECK: arith.extf {{{{.*}}}} : {dtype} to f32
        CHECK: arith.extf {{{{.*}}}} : {dtype} to f32
        CHECK: arith.mulf {{{{.*}}}} : f32
        CHECK: arith.addf {{{{.*}}}} : f32
        CHECK: linalg.generic {{{{.*}}}}tensor<6x8x{dtype}>) outs({{{{.*}}}}tensor<4x8xf32>)
        CHECK: arith.divf {{{{.*}}}} : f32
        CHECK-NEXT: arith.truncf {{{{.*}}}} : f32 to {dtype}
        """,
    )


def test_causal_hides_keys_by_minus_infinity():
    check_ir(
        payload_text(single_attention, SMALL.model_copy(update={"causal": True})),
        """
        CHECK: [[SHIFT:%.*]] = arith.constant 2 : i32
        CHECK: [[LAST:%.*]] = arith.addi {{.*}}, [[SHIFT]] : i32
        CHECK: [[VISIBLE:%.*]] = arith.cmpi sle, {{.*}}, [[LAST]] : i32
        CHECK: [[HIDDEN:%.*]] = arith.constant 0xFF800000 : f32
        CHECK: arith.select [[VISIBLE]], {{.*}}, [[HIDDEN]] : f32
        """,
    )


def test_only_causal_problems_compare_positions():
    check_ir(
        payload_text(single_attention, SMALL),
        """
        CHECK-NOT: linalg.index
        CHECK-NOT: 0xFF800000
        CHECK: return
        """,
    )


def test_grouped_queries_share_keys_without_copying_them():
    grouped = SMALL.model_copy(update={"heads": 6, "kv_heads": 2})
    check_ir(
        payload_text(multi_head_attention, grouped),
        """
        CHECK-DAG: [[QUERY:#.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d5)>
        CHECK-DAG: [[KEY:#.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d4, d5)>
        CHECK: func.func @attention(%{{.*}}: tensor<1x2x3x4x8xf32>, %{{.*}}: tensor<1x2x6x8xf32>
        CHECK: linalg.generic {indexing_maps = [[[QUERY]], [[KEY]], {{.*}}outs({{.*}}tensor<1x2x3x4x6xf32>)
        """,
    )


UNSUPPORTED = {
    "packed sequences (cu_seqlens)": {"cu_seqlens_q": (0, 4), "cu_seqlens_kv": (0, 6)},
    "key lengths of padded batches (kv_lengths)": {"kv_lengths": (5,)},
    "a boolean mask": {"mask": True},
    "an additive bias": {"bias": True},
    "a window": {"window": (2, 0)},
    "a score cap (softcap)": {"softcap": 30.0},
    "prologue projections (model_width)": {"model_width": 32},
}


@pytest.mark.parametrize("feature", UNSUPPORTED)
def test_names_the_feature_that_it_lacks(feature):
    problem = AttentionProblem(heads=1, seq_q=4, seq_kv=6, head_dim=8, **UNSUPPORTED[feature])
    assert unsupported_by_payload(problem) == f"{feature} is not part of this variant's payload"


def test_supports_causal_and_grouped_problems_in_every_dtype():
    problem = AttentionProblem(heads=4, kv_heads=2, seq_q=4, seq_kv=6, head_dim=8, causal=True, dtype="bf16")
    assert unsupported_by_payload(problem) is None
