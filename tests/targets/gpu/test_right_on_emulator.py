"""Kernels for every vendor's GPUs compute attention of every form, and the emulator's checks find nothing."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from emulated_runs import assert_right_on_emulator, built
from sweeps import sweep

from harness import plugins
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case, ParameterValue
from harness.problem.inputs import make_inputs
from harness.system.errors import UnsupportedError

CHIPS = (
    "cuda:sm_80",
    "cuda:sm_90a",
    "rocm:gfx90a",
    "rocm:gfx942",
    "rocm:gfx950",
    "rocm:gfx1100",
    "rocm:gfx1201",
    "xegpu:bmg",
    "xegpu:pvc",
)
GENERATED = ("flash", "naive", "unfused")


@dataclass(frozen=True)
class Form:
    """A problem, and the variants and parameters that are for it."""

    problem: AttentionProblem
    variants: tuple[str, ...] = GENERATED
    params: dict[str, ParameterValue] = field(default_factory=dict)


def attention(*variants: str, params: dict[str, ParameterValue] | None = None, **fields: object) -> Form:
    """Return a form of one head of 64 columns in f16, unless fields say otherwise."""
    usual = {"heads": 1, "head_dim": 64, "dtype": "f16"}
    return Form(AttentionProblem(**{**usual, **fields}), variants or GENERATED, params or {})


PARTS: dict[str, ParameterValue] = {"kv_splits": 3}
TOKENS = {"cu_seqlens_q": (0, 70, 70, 77, 100), "cu_seqlens_kv": (0, 90, 95, 130, 150)}
HEADS = {"heads": 4, "kv_heads": 2, "head_dim": 40, "head_dim_v": 24, "model_width": 100}
FUSED: dict[str, ParameterValue] = {"projections": "fused"}
BEFORE: dict[str, ParameterValue] = {"projections": "before"}

FORMS = {
    "ragged causal": attention(seq_q=100, causal=True),
    "grouped cross": attention(batch=2, heads=2, kv_heads=1, seq_q=70, seq_kv=150, head_dim=32, dtype="bf16"),
    "other width of V": attention(seq_q=64, seq_kv=128, head_dim=48, head_dim_v=80, causal=True, scale=0.3),
    "narrow": attention(seq_q=64, seq_kv=80, head_dim=16),
    "wide": attention(seq_q=100, head_dim=256, causal=True),
    "wide in bf16": attention(seq_q=72, head_dim=128, dtype="bf16"),
    "as many keys as columns": attention(seq_q=64, seq_kv=128, head_dim=128),
    "one query": attention(heads=2, seq_q=1, seq_kv=150, head_dim=32, causal=True),
    "few queries": attention(heads=2, seq_q=17, seq_kv=150, head_dim=32, causal=True),
    "few keys": attention(heads=2, seq_q=70, seq_kv=17),
    "single precision": attention(seq_q=64, seq_kv=130, head_dim=32, dtype="f32"),
    "wide in single precision": attention(seq_q=64, seq_kv=96, head_dim=128, dtype="f32"),
    "few queries in single precision": attention(heads=2, seq_q=5, seq_kv=70, head_dim=32, dtype="f32"),
    "large scale": attention(seq_q=96, head_dim=32, causal=True, scale=1e12),
    "mask with open rows alone": attention("flash", heads=2, seq_q=3, seq_kv=64, head_dim=32, mask=True),
    "bias of queries": attention("flash", heads=2, seq_q=3, head_dim=32, bias=True, bias_axes="q"),
    "top-left causal": attention(
        heads=3, seq_q=200, seq_kv=330, head_dim=32, causal=True, causal_alignment="top-left"
    ),
    "queries without keys": attention(seq_q=130, seq_kv=65, causal=True),
    "one loop without iterations": attention(seq_q=200, seq_kv=64, causal=True),
    "division at every step": attention("flash", seq_q=130, causal=True, params={"division": "every-step"}),
    "keys in parts, one query": attention(
        "flash", batch=2, heads=4, kv_heads=2, seq_q=1, seq_kv=210, head_dim=32, causal=True, params=PARTS
    ),
    "keys in parts, causal": attention("flash", seq_q=200, causal=True, params=PARTS),
    "keys in parts, divided at every step": attention(
        "flash", seq_q=200, causal=True, params={**PARTS, "division": "every-step"}
    ),
    "keys in parts, top-left": attention(
        "flash",
        seq_q=70,
        seq_kv=200,
        head_dim=32,
        head_dim_v=64,
        dtype="bf16",
        causal=True,
        causal_alignment="top-left",
        params=PARTS,
    ),
    "keys in parts, one point": attention("flash", seq_q=17, seq_kv=200, params=PARTS),
    "packed": attention("varlen", heads=2, kv_heads=1, **TOKENS),
    "packed causal": attention("varlen", heads=2, dtype="bf16", causal=True, **TOKENS),
    "packed window and cap": attention("varlen", heads=2, head_dim=40, window=(20, 5), softcap=5.0, **TOKENS),
    "packed few tokens": attention(
        "varlen", head_dim=24, cu_seqlens_q=(0, 0, 1, 5), cu_seqlens_kv=(0, 3, 3, 20)
    ),
    "packed log-sum-exp": attention("varlen", heads=2, log_sum_exp=True, **TOKENS),
    "padded batch": attention(batch=3, seq_q=70, seq_kv=150, kv_lengths=(150, 0, 64)),
    "padded causal": attention(
        batch=2, heads=2, kv_heads=1, seq_q=70, head_dim=32, dtype="bf16", causal=True, kv_lengths=(70, 9)
    ),
    "padded window, mask, bias": attention(
        batch=2,
        seq_q=33,
        seq_kv=90,
        head_dim=40,
        window=(20, 30),
        mask=True,
        bias=True,
        kv_lengths=(90, 50),
    ),
    "padded one query": attention(
        batch=2, heads=4, kv_heads=1, seq_q=1, seq_kv=500, kv_lengths=(3, 400), log_sum_exp=True
    ),
    "sinks and log-sum-exp": attention(
        heads=2, seq_q=40, seq_kv=300, head_dim=32, causal=True, sinks=True, log_sum_exp=True
    ),
    "log-sum-exp where no key is seen": attention(
        "flash",
        seq_q=5,
        seq_kv=64,
        head_dim=128,
        causal=True,
        causal_alignment="top-left",
        window=(20, None),
        log_sum_exp=True,
        params={"division": "every-step"},
    ),
    "heads projected in the kernel": attention(
        "split-head", batch=2, heads=2, seq_q=100, model_width=96, causal=True, params=FUSED
    ),
    "heads projected before": attention(
        "split-head", batch=2, heads=2, seq_q=100, model_width=96, causal=True, params=BEFORE
    ),
    "ragged widths projected": attention(
        "split-head", seq_q=77, dtype="bf16", mask=True, params=FUSED, **HEADS
    ),
    "projected back": attention(
        "split-head",
        batch=2,
        seq_q=77,
        causal=True,
        output_projection=True,
        log_sum_exp=True,
        params=FUSED,
        **HEADS,
    ),
    "rows of an output that are not aligned": attention(
        "split-head", seq_q=33, head_dim=16, model_width=33, output_projection=True, params=BEFORE
    ),
    "heads that a workgroup keeps": attention(
        "split-head",
        batch=2,
        heads=1,
        seq_q=150,
        head_dim_v=32,
        dtype="bf16",
        model_width=96,
        kv_lengths=(150, 70),
        window=(80, 20),
        sinks=True,
        log_sum_exp=True,
        params=FUSED,
    ),
    "less than a tile projected": attention(
        "split-head", heads=2, seq_q=5, head_dim=8, model_width=5, output_projection=True, params=BEFORE
    ),
}

EVERY_RUN = [
    ("cuda:sm_80", "naive", "ragged causal"),
    ("cuda:sm_80", "flash", "single precision"),
    ("cuda:sm_80", "flash", "keys in parts, one query"),
    ("cuda:sm_80", "varlen", "packed causal"),
    ("cuda:sm_80", "split-head", "heads that a workgroup keeps"),
    ("rocm:gfx90a", "unfused", "sinks and log-sum-exp"),
    ("rocm:gfx942", "naive", "padded window, mask, bias"),
    ("rocm:gfx1100", "flash", "few keys"),
    ("rocm:gfx1201", "varlen", "packed few tokens"),
    ("xegpu:bmg", "flash", "ragged causal"),
    ("xegpu:pvc", "flash", "log-sum-exp where no key is seen"),
]


@pytest.mark.parametrize(
    ("target", "variant", "form"),
    sweep(
        [(target, variant, name) for target in CHIPS for name in FORMS for variant in FORMS[name].variants],
        but=EVERY_RUN,
    ),
)
def test_kernels_are_right_and_the_checks_find_nothing(
    target: str, variant: str, form: str, tmp_path: Path
) -> None:
    problem, params = FORMS[form].problem, FORMS[form].params
    case = Case(problem=problem, variant=variant, target=target, params=params)
    reason = plugins.variant(variant).supports(problem, target)
    try:
        artifact = None if reason else plugins.variant(variant).build(case, "key", tmp_path)
    except UnsupportedError as error:  # of what only the code tells, such as shared memory
        artifact, reason = None, str(error)
    if artifact is None:
        assert (target, variant, form) not in EVERY_RUN, reason
        pytest.skip(str(reason))
    assert_right_on_emulator(artifact, tmp_path)


@pytest.mark.parametrize("target", sweep(["rocm:gfx942", "rocm:gfx1201", "xegpu:bmg"], but=["rocm:gfx1201"]))
def test_a_key_that_is_no_number_makes_the_rows_that_see_it_none(target: str) -> None:
    problem = AttentionProblem(heads=1, seq_q=64, head_dim=32, dtype="f16", causal=True)
    artifact, folder = built(problem, target)
    executable = artifact.load(folder)
    inputs = make_inputs(problem, seed=3)
    inputs.k[0, 0, 40] = np.nan
    is_number = np.isfinite(executable(inputs.q, inputs.k, inputs.v)[0, 0]).all(axis=-1)
    assert is_number.tolist() == [row < 40 for row in range(64)]
