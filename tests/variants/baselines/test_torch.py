import contextlib
import importlib.util
import pkgutil
import subprocess
import sys
from types import ModuleType

import numpy as np
import pytest
from dense_attention import assert_attention, build_and_load

from harness.api import BuiltArtifact, attention
from harness.errors import InputError, UnsupportedError
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.problem.inputs import Inputs
from harness.variants.baselines.torch.variant import Torch, TorchUnfused

BOTH = pytest.mark.parametrize("variant", [Torch(), TorchUnfused()], ids=lambda variant: variant.name)
SMALL = AttentionProblem(heads=2, seq_q=8, head_dim=8)


@pytest.fixture
def installed(monkeypatch):
    """Make `supports` find a PyTorch, whether or not one is there."""
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: found("json" if name == "torch" else name))


@pytest.mark.extra("baselines")
@BOTH
@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
def test_computes_attention_of_ragged_lengths_in_each_dtype(variant, dtype, tmp_path):
    problem = AttentionProblem(heads=2, seq_q=77, seq_kv=333, head_dim=64, dtype=dtype)
    assert_attention(variant, problem, tmp_path)


@pytest.mark.extra("baselines")
@BOTH
@pytest.mark.parametrize("alignment", ["bottom-right", "top-left"])
@pytest.mark.parametrize("seq_kv", [33, 65])
def test_causal_with_grouped_queries(variant, alignment, seq_kv, tmp_path):
    problem = AttentionProblem(
        heads=6, kv_heads=2, batch=2, seq_q=33, seq_kv=seq_kv, head_dim=16, head_dim_v=24, causal=True,
        causal_alignment=alignment, scale=0.3,
    )  # fmt: skip
    assert_attention(variant, problem, tmp_path)


@pytest.mark.extra("baselines")
@BOTH
def test_window_and_lengths_of_each_batch_entry(variant, tmp_path):
    problem = AttentionProblem(
        batch=2, heads=2, seq_q=9, seq_kv=30, head_dim=8, kv_lengths=(20, 30), window=(5, 3)
    )
    assert_attention(variant, problem, tmp_path)


@pytest.mark.extra("baselines")
@BOTH
def test_bias_and_boolean_mask(variant, tmp_path):
    problem = AttentionProblem(heads=4, kv_heads=2, seq_q=17, seq_kv=30, head_dim=16, mask=True, bias=True)
    assert_attention(variant, problem, tmp_path)


@pytest.mark.extra("baselines")
@BOTH
@pytest.mark.parametrize("shape", [(), (1,), (30,), (17, 30), (4, 1, 30)])
@pytest.mark.parametrize("causal", [False, True])
def test_a_bias_of_any_number_of_dimensions(variant, shape, causal):
    random = np.random.default_rng(0)
    q, k, bias = (random.standard_normal(of, np.float32) for of in ((1, 4, 17, 16), (1, 4, 30, 16), shape))
    whole = np.broadcast_to(bias, (1, 4, 17, 30))
    found, expected = (
        attention(q, k, k, variant=variant.name, bias=operand, causal=causal) for operand in (bias, whole)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.extra("baselines")
def test_unfused_softcap(tmp_path):
    problem = AttentionProblem(heads=2, seq_q=17, seq_kv=30, head_dim=16, softcap=0.7, causal=True)
    assert_attention(TorchUnfused(), problem, tmp_path)


@pytest.mark.extra("baselines")
def test_fused_gives_zero_for_queries_without_keys(tmp_path):
    problem = AttentionProblem(heads=2, seq_q=30, seq_kv=9, head_dim=16, causal=True)
    assert_attention(Torch(), problem, tmp_path)


@pytest.mark.extra("baselines")
def test_unfused_refuses_a_mask_that_hides_all_keys_of_a_query(tmp_path):
    problem = SMALL.model_copy(update={"mask": True})
    artifact, _, inputs = build_and_load(TorchUnfused(), problem, tmp_path)
    mask = inputs.mask.copy()
    mask[0, 0, 3] = False
    with pytest.raises(UnsupportedError, match="sees no key"):
        artifact.load(tmp_path).bind(Inputs(q=inputs.q, k=inputs.k, v=inputs.v, mask=mask))


@pytest.mark.extra("baselines")
@BOTH
def test_unexpected_bias_is_bad_input(variant, tmp_path):
    artifact, _, inputs = build_and_load(variant, SMALL, tmp_path)
    with pytest.raises(InputError, match="bias: one was given, but the problem has none"):
        artifact.load(tmp_path).bind(Inputs(q=inputs.q, k=inputs.k, v=inputs.v, bias=np.zeros((8, 8))))


@pytest.mark.extra("baselines")
def test_poison_fills_all_buffers_of_the_unfused_call(tmp_path):
    artifact, expected, inputs = build_and_load(TorchUnfused(), SMALL, tmp_path)
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
    from harness.variants.baselines.torch.tensors import to_array, to_tensor

    array = np.arange(np.prod(shape)).reshape(shape).astype(numpy_dtype(dtype))
    backwards = array[tuple(slice(None, None, -1 if size == 1 else 1) for size in shape)]
    assert any(stride < 0 for stride in backwards.strides)
    tensor = to_tensor(backwards)
    np.testing.assert_array_equal(to_array(tensor), array)
    assert np.shares_memory(to_array(tensor), array)


@pytest.mark.extra("baselines")
def test_inputs_are_not_copied():
    import torch

    from harness.problem.dtypes import numpy_dtype
    from harness.variants.baselines.torch.calls import to_array, to_tensor

    array = np.arange(6).reshape(2, 3).astype(numpy_dtype("bf16"))
    tensor = to_tensor(array)
    assert tensor.dtype == torch.bfloat16
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
        artifact, _, inputs = build_and_load(variant, SMALL, folder, threads=threads)
        kernels.append(BuiltArtifact(artifact, folder).executable())
    before, used = torch.get_num_threads(), []
    original = pkgutil.resolve_name(function)

    def counted(*given, **named):
        used.append(torch.get_num_threads())
        return original(*given, **named)

    monkeypatch.setattr(function, counted)
    for kernel in (*kernels, *kernels):
        kernel(inputs.q, inputs.k, inputs.v)
        used.append(torch.get_num_threads())
    assert used == [3, before, 2, before] * 2


class StubOfPyTorch(ModuleType):
    """What of PyTorch knows its number of threads."""

    count = 5

    def get_num_threads(self) -> int:
        return self.count

    def set_num_threads(self, count: int) -> None:
        self.count = count


def test_the_number_of_threads_is_put_back_whatever_happens(monkeypatch):
    stub = StubOfPyTorch("torch")
    monkeypatch.setitem(sys.modules, "torch", stub)
    monkeypatch.delitem(sys.modules, "harness.variants.baselines.torch.threads", raising=False)
    from harness.variants.baselines.torch.threads import with_threads

    with contextlib.suppress(KeyError), with_threads(3):
        assert stub.count == 3
        with with_threads(2):
            assert stub.count == 2
        assert stub.count == 3
        raise KeyError
    assert stub.count == 5
    monkeypatch.delitem(sys.modules, "harness.variants.baselines.torch.threads")


@BOTH
@pytest.mark.parametrize("target", ["cpu", "cuda", "cuda:sm_80"])
def test_missing_torch_names_what_to_install(variant, target, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert variant.supports(SMALL, target) == "install attention-harness[baselines]"


def test_asking_and_building_do_not_import_torch():
    script = (
        "import sys\n"
        "from harness.problem import AttentionProblem\n"
        "from harness.variants.baselines.torch.variant import Torch\n"
        "Torch().supports(AttentionProblem(heads=1, seq_q=1, head_dim=1), 'cpu')\n"
        "print('torch' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("variant", "fields", "target", "reason"),
    [
        (Torch(), {}, "rocm:gfx942", "not on rocm"),
        (Torch(), {}, "cpu:avx2", "avx2 cannot be asked for"),
        (Torch(), {"softcap": 2.0}, "cpu", "scaled_dot_product_attention has no softcap"),
        (Torch(), {"model_width": 32, "mask": True}, "cpu", "with projections this baseline has no mask"),
        (
            Torch(),
            {"cu_seqlens_q": (0, 8), "cu_seqlens_kv": (0, 8), "causal": True, "window": (2, 0)},
            "cpu",
            "no window for packed sequences",
        ),
        (TorchUnfused(), {"causal": True, "seq_kv": 4}, "cpu", "NaN for a query that sees no key"),
    ],
)
def test_unsupported_problems_have_a_reason(variant, fields, target, reason):
    problem = AttentionProblem(**{"heads": 2, "seq_q": 8, "head_dim": 8, **fields})
    assert reason in (variant.supports(problem, target) or "")


@pytest.mark.usefixtures("installed")
def test_supported_problems_have_no_reason():
    assert Torch().supports(SMALL, "cpu:host") is None
    assert TorchUnfused().supports(SMALL.model_copy(update={"softcap": 2.0}), "cpu") is None


@pytest.mark.parametrize(
    ("fields", "argument"),
    [
        ({"causal": True}, "is_causal=True"),
        ({"causal": True, "seq_kv": 16}, "attn_mask="),
        ({"causal": True, "seq_kv": 16, "causal_alignment": "top-left"}, "is_causal=True"),
        ({"causal": True, "scale": -0.25}, "attn_mask="),
        ({"causal": True, "window": (2, 0)}, "attn_mask="),
        ({"bias": True}, "attn_mask="),
        ({"kv_heads": 1}, "enable_gqa=True"),
    ],
)
def test_source_shows_how_the_library_is_called(fields, argument):
    problem = AttentionProblem(**{"heads": 2, "seq_q": 8, "head_dim": 8, **fields})
    source = Torch().source(Case(problem=problem, variant="torch", target="cpu"))
    assert "scaled_dot_product_attention(" in source
    assert argument in source


def test_unfused_figures_count_both_buffers_and_hidden_pairs(tmp_path):
    problem = AttentionProblem(heads=2, seq_q=8, head_dim=4, causal=True, dtype="f16")
    case = Case(problem=problem, variant="torch-unfused", target="cpu")
    metrics = TorchUnfused().build(case, "key", tmp_path).metrics
    assert metrics.workspace_bytes == 2 * (2 * 8 * 8) * 2
    assert metrics.flops_executed == 4 * (2 * 8 * 8) * 4
