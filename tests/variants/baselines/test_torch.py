import importlib.util
import pkgutil
from dataclasses import replace

import numpy as np
import pytest
from baseline_runs import build_and_run, judge

from harness.api import BuiltArtifact, attention
from harness.problem.attention_problem import AttentionProblem
from harness.system.errors import UnsupportedError
from harness.variants.baselines.torch.variant import Torch, TorchUnfused

BOTH = pytest.mark.parametrize("variant", [Torch(), TorchUnfused()], ids=lambda variant: variant.name)
SMALL = AttentionProblem(heads=2, seq_q=8, head_dim=8)


@pytest.fixture
def installed(monkeypatch):
    """Make `supports` find a PyTorch, whether or not one is there."""
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: find_spec(name.replace("torch", "json")))


RAGGED = AttentionProblem(heads=2, seq_q=77, seq_kv=333, head_dim=64)
CAUSAL = AttentionProblem(
    heads=6, kv_heads=2, batch=2, seq_q=33, seq_kv=33, head_dim=16, head_dim_v=24, causal=True, scale=0.3
)
PROBLEMS = {
    **{dtype: RAGGED.model_copy(update={"dtype": dtype}) for dtype in ("f32", "f16", "bf16")},
    "causal": CAUSAL,
    "causal, bottom-right": CAUSAL.model_copy(update={"seq_kv": 65}),
    "causal, top-left": CAUSAL.model_copy(update={"seq_kv": 65, "causal_alignment": "top-left"}),
    "window and lengths": AttentionProblem(
        batch=2, heads=2, seq_q=9, seq_kv=30, head_dim=8, kv_lengths=(20, 30), window=(5, 3)
    ),
    "bias and mask": AttentionProblem(
        heads=4, kv_heads=2, seq_q=17, seq_kv=30, head_dim=16, mask=True, bias=True
    ),
    "softcap": AttentionProblem(heads=2, seq_q=17, seq_kv=30, head_dim=16, softcap=0.7, causal=True),
    "queries without keys": AttentionProblem(heads=2, seq_q=30, seq_kv=9, head_dim=16, causal=True),
    "packed, window": AttentionProblem(
        heads=2, head_dim=16, window=(5, 3), cu_seqlens_q=(0, 9, 9, 40), cu_seqlens_kv=(0, 7, 12, 60)
    ),
    "projections, mask": AttentionProblem(heads=2, seq_q=17, head_dim=16, model_width=24, mask=True),
}

NOT_UNFUSED = ("queries without keys", "packed, window", "projections, mask")


@pytest.mark.extra("baselines")
@BOTH
@pytest.mark.parametrize("name", PROBLEMS)
def test_computes_attention_or_says_why_not(variant, name, tmp_path):
    if variant.supports(PROBLEMS[name], "cpu") is None:
        assert judge(variant, PROBLEMS[name], tmp_path).ok
    else:
        assert name == "softcap" if variant.name == "torch" else name in NOT_UNFUSED


@pytest.mark.extra("baselines")
@BOTH
@pytest.mark.parametrize("shape", [(), (1,), (30,), (17, 30), (4, 1, 30)])
@pytest.mark.parametrize("causal", [False, True])
def test_a_bias_of_any_number_of_dimensions(variant, shape, causal):
    random = np.random.default_rng(0)
    q, k, bias = (random.standard_normal(of, np.float32) for of in ((1, 4, 17, 16), (1, 4, 30, 16), shape))
    whole = np.broadcast_to(bias, (1, 4, 17, 30))
    output, expected = (
        attention(q, k, k, variant=variant.name, bias=operand, causal=causal) for operand in (bias, whole)
    )
    np.testing.assert_allclose(output, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.extra("baselines")
def test_unfused_refuses_a_mask_that_hides_all_keys_of_a_query(tmp_path):
    problem = SMALL.model_copy(update={"mask": True})
    artifact, _, inputs = build_and_run(TorchUnfused(), problem, tmp_path)
    mask = inputs.mask.copy()
    mask[..., 3, :] = False
    with pytest.raises(UnsupportedError, match="sees no key"):
        artifact.load(tmp_path).bind(replace(inputs, mask=mask))


@pytest.mark.extra("baselines")
def test_poison_fills_all_buffers_of_the_unfused_call(tmp_path):
    artifact, expected, inputs = build_and_run(TorchUnfused(), SMALL, tmp_path)
    call = artifact.load(tmp_path).bind(inputs)
    call.run()
    call.poison()
    assert np.isnan(call.output()).all()
    assert bool(call.scores.isnan().all())
    assert bool(call.probabilities.isnan().all())
    call.run()
    np.testing.assert_array_equal(call.output(), expected)


@pytest.mark.extra("baselines")
@pytest.mark.parametrize("dtype", ["f32", "bf16"])
@pytest.mark.parametrize("shape", [(1, 2, 1, 8), (2, 2, 1, 1), (1,)])
def test_a_view_with_a_negative_stride_over_one_element_is_taken_as_it_is(shape, dtype):
    from harness.problem.dtypes import numpy_dtype
    from harness.variants.baselines.torch.calls import to_array, to_tensor

    array = np.arange(np.prod(shape)).reshape(shape).astype(numpy_dtype(dtype))
    backwards = array[tuple(slice(None, None, -1 if size == 1 else 1) for size in shape)]
    assert any(stride < 0 for stride in backwards.strides)
    tensor = to_tensor(backwards)
    np.testing.assert_array_equal(to_array(tensor), array)
    assert np.shares_memory(to_array(tensor), array)


@pytest.mark.extra("baselines")
@pytest.mark.parametrize(
    ("variant", "function"),
    [(Torch(), "torch.nn.functional.scaled_dot_product_attention"), (TorchUnfused(), "torch.baddbmm")],
)
def test_each_call_has_its_own_number_of_threads_and_the_caller_keeps_his(
    variant, function, tmp_path, monkeypatch
):
    import torch

    kernels = []
    for threads in (3, 2):
        folder = tmp_path / str(threads)
        artifact, _, inputs = build_and_run(variant, SMALL, folder, threads=threads)
        kernels.append(BuiltArtifact(artifact, folder).executable())
    before, used = torch.get_num_threads(), []
    original = pkgutil.resolve_name(function)

    def counted(*arguments, **options):
        used.append(torch.get_num_threads())
        return original(*arguments, **options)

    monkeypatch.setattr(function, counted)
    for kernel in (*kernels, *kernels):
        kernel(inputs.q, inputs.k, inputs.v)
        used.append(torch.get_num_threads())
    assert used == [3, before, 2, before] * 2


@BOTH
@pytest.mark.parametrize("target", ["cpu", "cuda", "cuda:sm_80"])
def test_missing_torch_names_what_to_install(variant, target, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert variant.supports(SMALL, target) == "install attention-harness[baselines]"


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("variant", "fields", "target", "reason"),
    [
        (Torch(), {}, "cpu:avx2", "avx2 cannot be asked for"),
        (Torch(), {"softcap": 2.0}, "cpu", "softcap is not part of this baseline"),
        (TorchUnfused(), {"causal": True, "seq_kv": 4}, "cpu", "NaN for a query that sees no key"),
    ],
)
def test_unsupported_problems_have_a_reason(variant, fields, target, reason):
    problem = AttentionProblem(**{"heads": 2, "seq_q": 8, "head_dim": 8, **fields})
    assert reason in (variant.supports(problem, target) or "")
