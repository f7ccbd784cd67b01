"""Windows, caps, masks and biases, alone and together, computed on the CPU and judged by the oracle."""

from pathlib import Path

import numpy as np
import pytest
from sweeps import sweep

import harness
from harness import plugins
from harness.errors import InputError
from harness.oracle.expected import expect
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.problem.inputs import make_inputs

EVERYTHING = {"mask": True, "bias": True, "softcap": 10.0, "window": (40, None), "causal": True}
FORMS = {
    "window": {"window": (20, 10)},
    "window, causal": {"window": (30, None), "causal": True},
    "window, top-left": {"window": (30, 4), "causal": True, "causal_alignment": "top-left"},
    "softcap": {"softcap": 5.0},
    "mask": {"mask": True, "batch": 2},
    "bias": {"bias": True, "batch": 2},
    "everything": {**EVERYTHING, "batch": 2, "heads": 4, "kv_heads": 2, "dtype": "bf16"},
    "one query": {"seq_q": 1, "mask": True, "window": (9, None)},
    "few queries": {"seq_q": 3, "heads": 1, "bias": True},
    "fewer keys": {"seq_q": 100, "seq_kv": 30, "window": (20, None), "causal": True},
}
TOKENS = {"cu_seqlens_q": (0, 100, 100, 107, 250), "cu_seqlens_kv": (0, 90, 95, 170, 310)}
PACKED = {
    "window": {"window": (20, 10)},
    "window, causal": {"window": (30, None), "causal": True},
    "window, top-left": {"window": (30, 4), "causal": True, "causal_alignment": "top-left"},
    "softcap": {"softcap": 5.0},
}
EVERY_RUN = [("flash", "window"), ("flash", "everything"), ("unfused", "everything"), ("naive", "everything")]
ALL = [(variant, form) for variant in ("flash", "unfused", "naive") for form in FORMS]


def assert_right(problem: AttentionProblem, variant: str, folder: Path) -> None:
    case = Case(problem=problem, variant=variant, target="cpu")
    assert plugins.variant(variant).supports(problem, "cpu") is None
    call_of = plugins.variant(variant).build(case, "key", folder).load(folder)
    for distribution in ("normal", "negative-logits", "minus-infinity-columns"):
        inputs = make_inputs(problem, distribution)
        call = call_of.bind(inputs)
        call.poison()
        call.run()
        verdict = expect(inputs, problem).check(call.output())
        assert verdict.ok, (distribution, verdict)


@pytest.mark.parametrize(("variant", "form"), sweep(ALL, but=EVERY_RUN))
def test_forms_are_right(variant: str, form: str, tmp_path: Path) -> None:
    plain = {"heads": 2, "seq_q": 100, "seq_kv": 150, "head_dim": 32}
    assert_right(AttentionProblem(**{**plain, **FORMS[form]}), variant, tmp_path)


@pytest.mark.parametrize("form", sweep(PACKED, but=["window, causal"]))
def test_packed_sequences_have_windows_and_caps(form: str, tmp_path: Path) -> None:
    assert_right(AttentionProblem(heads=2, head_dim=32, **TOKENS, **PACKED[form]), "varlen", tmp_path)


@pytest.mark.parametrize("form", sweep(["window", "mask", "bias", "everything"], but=["everything"]))
def test_projected_heads_have_them_all(form: str, tmp_path: Path) -> None:
    plain = {"heads": 2, "seq_q": 75, "head_dim": 32, "model_width": 48}
    assert_right(AttentionProblem(**{**plain, **FORMS[form]}), "split-head", tmp_path)


@pytest.mark.parametrize("queries", sweep([9, 17, 18, 25], but=[17]))
def test_vectors_of_any_length_have_code_in_bf16(queries: int, tmp_path: Path) -> None:
    assert_right(AttentionProblem(heads=1, seq_q=queries, head_dim=16, dtype="bf16"), "flash", tmp_path)


def test_a_smaller_mask_and_bias_are_repeated() -> None:
    generator = np.random.default_rng(0)
    q, k, v = (generator.standard_normal((2, 2, 9, 16), dtype=np.float32) for _ in range(3))
    mask = generator.random((9, 9)) < 0.7
    bias = generator.standard_normal((2, 1, 9), dtype=np.float32)
    repeated = np.broadcast_to(bias, (1, 2, 9, 9)), np.broadcast_to(mask, (2, 1, 9, 9))
    small = harness.attention(q, k, v, mask=mask, bias=bias)
    np.testing.assert_array_equal(small, harness.attention(q, k, v, bias=repeated[0], mask=repeated[1]))


def test_what_kernels_have_one_of_for_all_is_refused_in_one_line() -> None:
    q = np.zeros((2, 2, 4, 8), np.float32)
    with pytest.raises(InputError, match=r"^mask: found shape \[2, 2, 4, 4\], generated kernels take"):
        harness.attention(q, q, q, mask=np.ones((2, 2, 4, 4), bool))


def test_what_a_window_hides_is_not_computed(tmp_path: Path) -> None:
    executed = {}
    for window in (None, (63, 0)):
        problem = AttentionProblem(heads=1, seq_q=1024, head_dim=32, window=window)
        case = Case(problem=problem, variant="flash", target="cpu", params={"tile_kv": 64})
        folder = tmp_path / str(window)
        folder.mkdir()
        executed[window] = plugins.variant("flash").build(case, "key", folder).metrics.flops_executed
    assert executed[63, 0] < 0.2 * executed[None]
