import importlib.util
import itertools
import re
import subprocess
import sys
from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest
from baseline_runs import build_and_run, judge
from sweeps import sweep

from harness.oracle.expected import expect
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.system.errors import BuildError, UnsupportedError
from harness.variants.baselines.iree.variant import Iree, IreeUnfused

BOTH = pytest.mark.parametrize("variant", [Iree(), IreeUnfused()], ids=lambda variant: variant.name)
SMALL = AttentionProblem(heads=1, seq_q=8, head_dim=8)

RAGGED = AttentionProblem(heads=2, seq_q=77, seq_kv=333, head_dim=64)
PROBLEMS = {
    **{dtype: RAGGED.model_copy(update={"dtype": dtype}) for dtype in ("f32", "f16", "bf16")},
    "causal, grouped": AttentionProblem(
        heads=6, kv_heads=2, batch=2, seq_q=33, seq_kv=65, head_dim=16, head_dim_v=24, causal=True, scale=0.3
    ),
    "window and lengths": AttentionProblem(
        batch=2, heads=2, seq_q=9, seq_kv=30, head_dim=8, kv_lengths=(20, 30), window=(5, 3)
    ),
    "softcap, bias and mask": AttentionProblem(
        heads=4, kv_heads=2, seq_q=17, seq_kv=30, head_dim=16, mask=True, bias=True, softcap=0.7
    ),
}


@pytest.mark.parametrize(
    ("variant", "name"),
    sweep(
        itertools.product([Iree, IreeUnfused], PROBLEMS),
        but=[(Iree, "causal, grouped"), (Iree, "bf16"), (IreeUnfused, "softcap, bias and mask")],
    ),
)
def test_computes_attention(variant, name, tmp_path):
    assert judge(variant(), PROBLEMS[name], tmp_path).ok


def test_an_artifact_names_stages_and_size_of_code(tmp_path):
    artifact, _, _ = build_and_run(Iree(), SMALL, tmp_path)
    assert list(artifact.stage_files) == [
        "payload", "dispatches", "configured", "tuned", "llvm", "linked", "optimized", "assembly", "object",
    ]  # fmt: skip
    assert all((tmp_path / name).stat().st_size > 0 for name in artifact.stage_files.values())
    assert 0 < artifact.metrics.code_bytes < (tmp_path / "module.vmfb").stat().st_size
    assert list(artifact.stage_seconds) == ["dispatches", "configured", "tuned", "llvm", "object"]


def test_tiles_of_vectors_on_a_processor(tmp_path):
    case = Case(problem=SMALL, variant="iree", target="cpu", params={"tile_kv": 4})
    artifact = Iree().build(case, "key", tmp_path)
    assert artifact.chosen == {"tile_q": min(16, SMALL.seq_q), "tile_v": SMALL.head_dim_v}
    tuned = (tmp_path / artifact.stage_files["tuned"]).read_text()
    assert re.search(r"parallel = \[8, 0, 0, 8\], vector_reduction = \[0, 0, 4, 0\]", tuned)


def test_subgroups_are_for_gpus(tmp_path):
    case = Case(problem=SMALL, variant="iree", target="cpu", params={"tile_q": 32, "subgroups": 2})
    with pytest.raises(UnsupportedError, match="subgroups: on GPUs only"):
        Iree().build(case, "key", tmp_path)


@pytest.mark.parametrize(("seq_q", "is_right"), sweep([(1, False), (16, True)], but=[(16, True)]))
def test_what_the_cpu_refuses_of_wide_heads_is_wrong(seq_q, is_right, tmp_path):
    """Where this fails for a new IREE, its tiles are mended: nothing has to be refused any more."""
    problem = AttentionProblem(heads=2, seq_q=seq_q, seq_kv=64, head_dim=136, head_dim_v=16)
    assert (Iree().supports(problem, "cpu") is None) == is_right
    assert judge(Iree(), problem, tmp_path).ok == is_right


@pytest.mark.parametrize(
    ("fields", "target", "reason"),
    [
        ({}, "cuda:sm_61", "not for cuda:sm_61"),
        ({"causal": True, "seq_kv": 4}, "cpu", "IREE gives NaN for a query that sees no key"),
        ({"head_dim": 129, "seq_q": 1}, "cpu", "head_dim 129: on the CPU IREE's attention op is wrong"),
        ({"model_width": 32}, "cpu", "model_width is not part of this baseline"),
        ({"cu_seqlens_q": (0, 8), "cu_seqlens_kv": (0, 8)}, "cuda:sm_80", "cu_seqlens_q is not part"),
        ({"causal": True, "kv_heads": 1, "bias": True, "softcap": 2.0}, "rocm:gfx1201", None),
    ],
)
def test_unsupported_problems_have_a_reason(fields, target, reason):
    problem = AttentionProblem(**{"heads": 2, "seq_q": 8, "head_dim": 8, **fields})
    refusal = Iree().supports(problem, target)
    assert refusal is None if reason is None else reason in refusal


def test_an_error_of_the_compiler_ends_the_build(tmp_path, monkeypatch):
    monkeypatch.setattr(Iree, "payload", lambda self, problem: "func.func @f() -> f32 { return }")
    with pytest.raises(BuildError, match=r"^iree-compile: .*operands"):
        Iree().build(Case(problem=SMALL, variant="iree", target="cpu"), "key", tmp_path)


def test_missing_compiler_names_what_to_install(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert Iree().supports(SMALL, "cpu") == "install iree-base-compiler and iree-base-runtime"


@pytest.mark.parametrize("hidden_by", ["mask", "bias", "bias and causal"])
def test_a_query_without_keys_is_unsupported_when_bound(hidden_by, tmp_path):
    name = hidden_by.partition(" ")[0]
    problem = SMALL.model_copy(update={name: True, "causal": "causal" in hidden_by})
    artifact, _, inputs = build_and_run(IreeUnfused(), problem, tmp_path)
    operand = getattr(inputs, name).copy()
    operand[..., 3, : 4 if problem.causal else None] = False if name == "mask" else -np.inf
    with pytest.raises(UnsupportedError, match="sees no key"):
        artifact.load(tmp_path).bind(replace(inputs, **{name: operand}))


@pytest.mark.parametrize("dtype", sweep(["f32", "f16", "bf16"], but=["f32"]))
@BOTH
def test_a_bias_of_least_numbers_is_right_or_unsupported_when_bound(variant, dtype, tmp_path):
    """Where the attention op is right for a new IREE, nothing has to be refused any more."""
    problem = SMALL.model_copy(update={"bias": True, "dtype": dtype})
    artifact, _, inputs = build_and_run(variant, problem, tmp_path)
    bias = inputs.bias.copy()
    bias[..., 2, :5] = bias[..., 3, :] = ml_dtypes.finfo(bias.dtype).min
    inputs = replace(inputs, q=0 * inputs.q, bias=bias)
    executable = artifact.load(tmp_path)
    if variant.name == "iree" and dtype != "f16":
        with pytest.raises(UnsupportedError, match=r"NaN for a query whose bias is -2\.4e\+38 or less"):
            executable.bind(inputs)
        bias[..., 3, 6] = 0
    call = executable.bind(inputs)
    call.run()
    assert expect(inputs, problem).check(call.output()).ok


def test_padding_of_keys_and_values_may_be_anything(tmp_path):
    problem = AttentionProblem(batch=2, heads=1, seq_q=8, head_dim=8, kv_lengths=(5, 8))
    artifact, _, inputs = build_and_run(IreeUnfused(), problem, tmp_path)
    k, v = inputs.k.copy(), inputs.v.copy()
    k[0, :, 5:], v[0, :, 5:] = np.nan, np.inf
    call = artifact.load(tmp_path).bind(replace(inputs, k=k, v=v))
    call.run()
    assert expect(inputs, problem).check(call.output()).ok


def test_output_survives_the_next_run_and_poison_forgets_it(tmp_path):
    artifact, expected, inputs = build_and_run(Iree(), SMALL, tmp_path)
    call = artifact.load(tmp_path).bind(inputs)
    call.run()
    kept = call.output()
    call.run()
    np.testing.assert_array_equal(kept, expected)
    call.poison()
    with pytest.raises(RuntimeError):
        call.output()


THREADS_OF_A_PROCESS = """
import os, signal
import numpy as np
from harness import attention
from harness.system.errors import HarnessError

q = np.ones((1, 2, 16, 8), np.float32)

def call(threads):
    try:
        np.testing.assert_allclose(attention(q, q, q, variant="iree-unfused", threads=threads), q, rtol=1e-6)
    except HarnessError as error:
        print(error, flush=True)

call(2)
call(3)
if os.fork() == 0:
    signal.alarm(60)
    call(1)
    call(2)
    os._exit(0)
print(os.waitstatus_to_exitcode(os.wait()[1]))
"""


@pytest.mark.sweep
def test_a_process_has_one_number_of_threads_and_its_forks_none():
    script = [sys.executable, "-c", THREADS_OF_A_PROCESS]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    another_number, in_a_fork, status = done.stdout.splitlines()
    assert another_number.startswith("IREE runs with 2 threads in this process and cannot change to 3")
    assert in_a_fork.startswith("IREE's threads do not live on in a forked process: call it there with 1")
    assert status == "0"
