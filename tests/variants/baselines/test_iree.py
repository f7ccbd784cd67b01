import importlib.util
import itertools
import subprocess
import sys
import time
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest
from dense_attention import assert_attention, build_and_load, dense_attention
from sweeps import sweep

from harness.errors import BuildError, InputError, UnsupportedError
from harness.oracle.expected import expect
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.problem.inputs import Inputs
from harness.running.check_requests import LoadRequest
from harness.running.worker import answer
from harness.variants.baselines.iree import calls, compilation
from harness.variants.baselines.iree.variant import Iree, IreeUnfused
from harness.workers.protocol import Life

BOTH = pytest.mark.parametrize("variant", [Iree(), IreeUnfused()], ids=lambda variant: variant.name)


@BOTH
@pytest.mark.parametrize("dtype", sweep(["f32", "f16", "bf16"], but=["bf16"]))
def test_computes_attention_of_ragged_lengths_in_each_dtype(variant, dtype, tmp_path):
    problem = AttentionProblem(heads=2, seq_q=77, seq_kv=333, head_dim=64, dtype=dtype)
    assert_attention(variant, problem, tmp_path)


@BOTH
def test_causal_is_aligned_bottom_right_for_grouped_queries(variant, tmp_path):
    problem = AttentionProblem(
        heads=6, kv_heads=2, batch=2, seq_q=33, seq_kv=65, head_dim=16, head_dim_v=24, causal=True, scale=0.3
    )
    assert_attention(variant, problem, tmp_path)


@BOTH
def test_window_and_lengths_of_each_batch_entry(variant, tmp_path):
    problem = AttentionProblem(
        batch=2, heads=2, seq_q=9, seq_kv=30, head_dim=8, kv_lengths=(20, 30), window=(5, 3)
    )
    assert_attention(variant, problem, tmp_path)


@BOTH
def test_softcap_then_bias_then_boolean_mask(variant, tmp_path):
    problem = AttentionProblem(
        heads=4, kv_heads=2, seq_q=17, seq_kv=30, head_dim=16, mask=True, bias=True, softcap=0.7
    )
    assert_attention(variant, problem, tmp_path)


def test_builds_for_the_avx2_chip(tmp_path):
    assert_attention(IreeUnfused(), AttentionProblem(heads=1, seq_q=16, head_dim=16), tmp_path, "cpu:avx2")
    assert "--iree-llvmcpu-target-cpu=x86-64-v3" in (tmp_path / "00-payload.mlir").read_text()


def test_artifact_names_its_stages_and_the_size_of_its_code(tmp_path):
    artifact, _, _ = build_and_load(Iree(), AttentionProblem(heads=1, seq_q=16, head_dim=16), tmp_path)
    assert list(artifact.stage_files) == [
        "payload", "dispatches", "configured", "llvm", "linked", "optimized", "assembly", "module",
    ]  # fmt: skip
    assert all((tmp_path / name).stat().st_size > 0 for name in artifact.stage_files.values())
    assert artifact.metrics.code_bytes is not None
    assert 0 < artifact.metrics.code_bytes < (tmp_path / "module.vmfb").stat().st_size
    assert list(artifact.stage_seconds) == ["dispatches", "configured", "llvm", "module"]
    assert all(seconds > 0 for seconds in artifact.stage_seconds.values())


def test_tiles_are_for_gpus(tmp_path):
    case = Case(
        problem=AttentionProblem(heads=1, seq_q=16, head_dim=16),
        variant="iree",
        target="cpu",
        params={"tile_q": 32, "subgroups": 2},
    )
    with pytest.raises(UnsupportedError, match=r"tile_q, subgroups: .* on GPUs only, not for cpu"):
        Iree().build(case, "key", tmp_path)


def test_unfused_form_is_two_matmuls_around_a_softmax():
    text = IreeUnfused().payload(AttentionProblem(heads=1, seq_q=16, head_dim=16))
    operations = [word for word in text.split() if word in ("linalg.batch_matmul", "linalg.softmax")]
    assert operations == ["linalg.batch_matmul", "linalg.softmax", "linalg.batch_matmul"]


def test_source_differs_by_problem_and_by_chip():
    problem = AttentionProblem(heads=1, seq_q=16, head_dim=16)
    sources = {
        Iree().source(Case(problem=problem, variant="iree", target="cpu")),
        Iree().source(Case(problem=problem, variant="iree", target="cpu:avx2")),
        Iree().source(Case(problem=problem.model_copy(update={"scale": 1.0}), variant="iree", target="cpu")),
    }
    assert len(sources) == 3


@pytest.mark.parametrize(("head_dim", "is_right"), [(128, True), (136, False), (192, False)])
def test_what_is_refused_on_the_cpu_is_wrong_and_what_is_not_is_right(head_dim, is_right, tmp_path):
    """Where this fails for a new IREE, its tiles are mended: nothing has to be refused any more."""
    problem = AttentionProblem(heads=2, seq_q=16, seq_kv=64, head_dim=head_dim, head_dim_v=16)
    assert (Iree().supports(problem, "cpu") is None) == is_right
    _, found, inputs = build_and_load(Iree(), problem, tmp_path)
    error = np.abs(found - dense_attention(problem, inputs)).max()
    assert error < 2e-6 if is_right else error > 0.1


def test_the_unfused_form_is_right_for_wide_heads(tmp_path):
    assert_attention(IreeUnfused(), AttentionProblem(heads=2, seq_q=16, seq_kv=64, head_dim=192), tmp_path)


def test_tool_versions_name_compiler_and_runtime():
    assert set(Iree().tool_versions()) == {"iree-base-compiler", "iree-base-runtime"}


@pytest.mark.parametrize(
    ("fields", "target", "reason"),
    [
        ({}, "cuda:sm_61", "not for cuda:sm_61"),
        ({}, "xegpu", "not for xegpu"),
        ({}, "cpu:neon", "not for cpu:neon"),
        ({"causal": True, "seq_kv": 4}, "cpu", "IREE gives NaN for a query that sees no key"),
        ({"head_dim": 129}, "cpu", "head_dim 129: on the CPU IREE's attention op is wrong for more than 128"),
        ({"model_width": 32}, "cpu", "projections are not part of this baseline"),
        ({"cu_seqlens_q": (0, 8), "cu_seqlens_kv": (0, 8)}, "cpu", "packed sequences"),
    ],
)
def test_unsupported_problems_have_a_reason(fields, target, reason):
    problem = AttentionProblem(**{"heads": 2, "seq_q": 8, "head_dim": 8, **fields})
    assert reason in (Iree().supports(problem, target) or "")


def test_an_error_of_the_compiler_ends_the_build(tmp_path, monkeypatch):
    monkeypatch.setattr(Iree, "payload", lambda self, problem: "func.func @f() -> f32 { return }")
    case = Case(problem=AttentionProblem(heads=1, seq_q=8, head_dim=8), variant="iree", target="cpu")
    with pytest.raises(BuildError, match=r"^iree-compile: .*operands"):
        Iree().build(case, "key", tmp_path)


def test_missing_compiler_names_what_to_install(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    problem = AttentionProblem(heads=1, seq_q=8, head_dim=8)
    assert Iree().supports(problem, "cpu") == "install iree-base-compiler and iree-base-runtime"


BESIDE_MLIR = """
import sys
from pathlib import Path
from mlir import ir
from harness.problem.case import Case
from harness.problem import AttentionProblem
from harness.variants.baselines.iree.variant import Iree

case = Case(problem=AttentionProblem(heads=1, seq_q=8, head_dim=8), variant="iree", target="cpu")
Iree().build(case, "key", Path(sys.argv[1])).load(Path(sys.argv[1]))
print("loaded")
"""


def test_builds_and_loads_in_a_process_that_uses_the_mlir_bindings(tmp_path):
    script = [sys.executable, "-c", BESIDE_MLIR, str(tmp_path)]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "loaded", done.stderr


@pytest.mark.parametrize("jump", [-3600.0, 3600.0])
def test_a_clock_that_is_set_during_a_build_makes_no_impossible_times(tmp_path, monkeypatch, jump):
    moments = itertools.count(time.time(), jump)
    clocks = SimpleNamespace(time=lambda: next(moments), monotonic=time.monotonic)
    monkeypatch.setattr(compilation, "time", clocks)
    case = Case(problem=AttentionProblem(heads=1, seq_q=8, head_dim=8), variant="iree", target="cpu")
    artifact = Iree().build(case, "key", tmp_path)
    assert all(0 <= seconds < 60 for seconds in artifact.stage_seconds.values())


def test_only_a_worker_changes_the_settings_of_its_heap(tmp_path, monkeypatch):
    changes = []
    monkeypatch.setattr(calls, "keep_heap_warm", lambda: changes.append("heap"))
    build_and_load(Iree(), AttentionProblem(heads=1, seq_q=8, head_dim=8), tmp_path)
    assert changes == []
    answer(LoadRequest(folder=tmp_path), Life())
    assert changes == ["heap"]


def test_mask_that_hides_all_keys_of_a_query_is_unsupported_when_bound(tmp_path):
    problem = AttentionProblem(heads=1, seq_q=8, head_dim=8, mask=True)
    artifact, _, inputs = build_and_load(Iree(), problem, tmp_path)
    mask = inputs.mask.copy()
    mask[0, 0, 3] = False
    with pytest.raises(UnsupportedError, match="sees no key"):
        artifact.load(tmp_path).bind(Inputs(q=inputs.q, k=inputs.k, v=inputs.v, mask=mask))


def test_bias_that_hides_all_keys_of_a_query_is_unsupported_when_bound(tmp_path):
    problem = AttentionProblem(heads=1, seq_q=8, head_dim=8, bias=True)
    artifact, _, inputs = build_and_load(IreeUnfused(), problem, tmp_path)
    bias = inputs.bias.copy()
    bias[..., 3, :] = -np.inf
    with pytest.raises(UnsupportedError, match="sees no key"):
        artifact.load(tmp_path).bind(Inputs(q=inputs.q, k=inputs.k, v=inputs.v, bias=bias))


def test_bias_and_mask_that_together_hide_all_keys_of_a_query_are_unsupported_when_bound(tmp_path):
    problem = AttentionProblem(heads=1, seq_q=8, head_dim=8, bias=True, causal=True)
    artifact, _, inputs = build_and_load(IreeUnfused(), problem, tmp_path)
    bias = inputs.bias.copy()
    bias[..., 3, :4] = -np.inf
    with pytest.raises(UnsupportedError, match="sees no key"):
        artifact.load(tmp_path).bind(Inputs(q=inputs.q, k=inputs.k, v=inputs.v, bias=bias))


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
@BOTH
def test_a_bias_of_least_numbers_is_right_or_unsupported_when_bound(variant, dtype, tmp_path):
    """Where the attention op is right for a new IREE, nothing has to be refused any more."""
    problem = AttentionProblem(heads=1, seq_q=8, head_dim=8, bias=True, dtype=dtype)
    artifact, _, inputs = build_and_load(variant, problem, tmp_path)
    bias = inputs.bias.copy()
    bias[..., 2, :5] = bias[..., 3, :] = ml_dtypes.finfo(bias.dtype).min
    inputs = Inputs(q=0 * inputs.q, k=inputs.k, v=inputs.v, bias=bias)
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
    artifact, _, inputs = build_and_load(IreeUnfused(), problem, tmp_path)
    k, v = inputs.k.copy(), inputs.v.copy()
    k[0, :, 5:], v[0, :, 5:] = np.nan, np.inf
    call = artifact.load(tmp_path).bind(Inputs(q=inputs.q, k=k, v=v))
    call.run()
    assert expect(inputs, problem).check(call.output()).ok


def test_missing_bias_is_bad_input(tmp_path):
    problem = AttentionProblem(heads=1, seq_q=8, head_dim=8, bias=True)
    artifact, _, inputs = build_and_load(IreeUnfused(), problem, tmp_path)
    with pytest.raises(InputError, match="bias: none was given, but the problem has one"):
        artifact.load(tmp_path).bind(Inputs(q=inputs.q, k=inputs.k, v=inputs.v))


def test_output_survives_the_next_run_and_poison_forgets_it(tmp_path):
    problem = AttentionProblem(heads=1, seq_q=8, head_dim=8)
    artifact, expected, inputs = build_and_load(Iree(), problem, tmp_path)
    call = artifact.load(tmp_path).bind(inputs)
    call.run()
    kept = call.output()
    call.run()
    np.testing.assert_array_equal(kept, expected)
    call.poison()
    with pytest.raises(RuntimeError):
        call.output()


TWO_THREADS = """
import sys
from pathlib import Path
import numpy as np
from harness.artifact import Artifact
from harness.errors import HarnessError
from harness.problem.inputs import Inputs
from harness.variants.baselines.iree.calls import open_cpu

folder = Path(sys.argv[1])
artifact = Artifact.model_validate_json((folder / "artifact.json").read_text())
problem = artifact.case.problem
zeros = np.zeros(problem.q_shape, np.float32)
ones = np.ones(problem.v_shape, np.float32)
call = artifact.load(folder).bind(Inputs(q=zeros, k=zeros, v=ones))
call.run()
np.testing.assert_allclose(call.output(), ones, rtol=1e-6)
tasks = len(list(Path("/proc/self/task").iterdir())) if sys.platform == "linux" else 3
assert tasks >= 3, tasks
assert open_cpu(2) is open_cpu(2)
try:
    open_cpu(3)
except HarnessError as error:
    print(error)
"""


def test_worker_threads_are_set_once_for_a_process(tmp_path):
    problem = AttentionProblem(heads=2, seq_q=16, head_dim=8)
    case = Case(problem=problem, variant="iree", target="cpu", target_options={"threads": 2})
    artifact = Iree().build(case, "key", tmp_path)
    (tmp_path / "artifact.json").write_text(artifact.model_dump_json())
    script = [sys.executable, "-c", TWO_THREADS, str(tmp_path)]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == (
        "IREE runs with 2 threads in this process and cannot change to 3; use a new process"
    )


IN_A_FORK = """
import os, signal, sys
import numpy as np
from harness import attention
from harness.errors import HarnessError

q = np.ones((1, 2, 16, 8), np.float32)
attention(q, q, q, variant="iree-unfused", threads=2)
if os.fork() == 0:
    signal.alarm(60)
    attention(q, q, q, variant="iree-unfused", threads=1)
    try:
        attention(q, q, q, variant="iree-unfused", threads=2)
    except HarnessError as error:
        print(error, flush=True)
    os._exit(0)
print(os.waitstatus_to_exitcode(os.wait()[1]))
"""


def test_a_fork_without_iree_s_threads_says_so_instead_of_waiting_for_ever():
    script = [sys.executable, "-c", IN_A_FORK]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told, status = done.stdout.splitlines()
    assert told.startswith("IREE's threads do not live on in a forked process: call it there with 1 thread")
    assert status == "0"
