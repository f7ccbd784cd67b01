import numpy as np
import pytest
from baseline_runs import build_and_run, judge

from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import make_inputs
from harness.system.errors import UnsupportedError
from harness.variants.baselines.runtimes.variant import OnnxRuntime, OpenVino

BOTH = pytest.mark.parametrize("variant", [OnnxRuntime(), OpenVino()], ids=lambda variant: variant.name)
RAGGED = AttentionProblem(heads=2, seq_q=77, seq_kv=133, head_dim=64)
CAUSAL = AttentionProblem(heads=2, batch=2, seq_q=33, seq_kv=33, head_dim=16, causal=True, scale=0.3)
PROBLEMS = {
    **{dtype: RAGGED.model_copy(update={"dtype": dtype}) for dtype in ("f32", "f16", "bf16")},
    "causal": CAUSAL,
    "causal, bottom-right": CAUSAL.model_copy(update={"seq_kv": 65}),
    "causal, top-left": CAUSAL.model_copy(update={"seq_kv": 65, "causal_alignment": "top-left"}),
    "other width of values": RAGGED.model_copy(update={"head_dim_v": 24, "bias": True}),
    "grouped heads": RAGGED.model_copy(update={"heads": 4, "kv_heads": 2}),
    "window and lengths": AttentionProblem(
        batch=2, heads=2, seq_q=9, seq_kv=30, head_dim=8, kv_lengths=(20, 30), window=(5, 3)
    ),
    "bias and mask": AttentionProblem(heads=2, seq_q=17, seq_kv=30, head_dim=16, mask=True, bias=True),
    "softcap": AttentionProblem(heads=2, seq_q=17, seq_kv=30, head_dim=16, softcap=0.7, causal=True),
    "decode": AttentionProblem(heads=2, seq_q=1, seq_kv=130, head_dim=32),
}
REFUSED = {"onnxruntime": {"bf16"}, "openvino": {"grouped heads", "softcap"}}


@pytest.mark.extra("runtimes")
@BOTH
@pytest.mark.parametrize("name", PROBLEMS)
def test_computes_attention_or_says_why_not(variant, name, tmp_path):
    if variant.supports(PROBLEMS[name], "cpu") is None:
        assert judge(variant, PROBLEMS[name], tmp_path).ok
    else:
        assert name in REFUSED[variant.name]


@pytest.mark.extra("runtimes")
@BOTH
def test_refuses_a_mask_that_hides_all_keys_of_a_query(variant, tmp_path):
    problem = CAUSAL.model_copy(update={"mask": True, "causal": False})
    artifact, _, inputs = build_and_run(variant, problem, tmp_path)
    inputs.mask[..., 3, :] = False
    with pytest.raises(UnsupportedError, match="sees no key"):
        artifact.load(tmp_path).bind(inputs)


@pytest.mark.extra("runtimes")
@BOTH
def test_a_call_takes_other_inputs(variant, tmp_path):
    artifact, first_output, first_inputs = build_and_run(variant, CAUSAL, tmp_path, threads=2)
    call = artifact.load(tmp_path).bind(make_inputs(CAUSAL, seed=1))
    assert call.take_inputs(first_inputs)
    call.run()
    np.testing.assert_array_equal(call.output(), first_output)


@BOTH
def test_refuses_targets_and_forms_it_does_not_have(variant):
    assert "not on cuda" in variant.supports(CAUSAL, "cuda:sm_80")
    assert "avx2" in variant.supports(CAUSAL, "cpu:avx2")
    assert variant.refuses(CAUSAL.model_copy(update={"log_sum_exp": True})) is not None
