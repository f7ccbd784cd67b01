"""What `harness.build` and `harness.attention` make of their arguments."""

import inspect
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from callers import at_once
from example_cases import PROBLEM
from example_results import example_result
from sweeps import sweep

import harness
from harness.api import BuiltArtifact
from harness.artifact.bound_call import BoundCall, Executable
from harness.artifact.checked_executable import CheckedExecutable
from harness.bench.running.progress import PlainObserver
from harness.oracle.expected import expect
from harness.problem.arguments import CALL_FIELDS, CALL_OPTIONS
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.problem.inputs import Inputs, make_inputs
from harness.results.manifest import collect
from harness.results.run_folder import RunFolder, run_paths
from harness.system.errors import HarnessError, InputError, UnsupportedError

TINY = """
name = "tiny"
question = "Is it right?"
variants = ["numpy-attention"]
targets = ["numpy"]

[problem]
heads = 1
head_dim = 8
seq = 16
"""

pytestmark = pytest.mark.usefixtures("example_plugin", "built_here")


def build(**settings: int) -> BuiltArtifact:
    return harness.build(PROBLEM, variant="numpy-attention", target="numpy", **settings)


def build_with(**params: Any) -> BuiltArtifact:
    return harness.build(PROBLEM, variant="numpy-attention", target="numpy", params=params)


def test_a_default_that_is_written_down_is_the_same_case() -> None:
    assert build().case == build(threads=1).case
    assert build().case.target_options == {"threads": 1}


def test_numpy_s_numbers_are_the_same_case() -> None:
    case = build_with(block=8).case
    assert case.params["block"] == 8
    assert build_with(block=np.int64(8)).case == case


@pytest.mark.parametrize("block", [[16], np.array([16]), "16", 16.0, True])
def test_a_parameter_of_another_kind_is_never_dropped(block: Any) -> None:
    with pytest.raises(InputError, match=r"^variant 'numpy-attention': block\S*: .*found "):
        build_with(block=block)


def test_what_was_pruned_from_the_cache_is_told_to_who_loads_it() -> None:
    built = build(threads=3)
    shutil.rmtree(built.folder)
    with pytest.raises(InputError, match=rf"^executable: {built.folder} is missing, .*: build it again$"):
        built.executable()


@pytest.mark.parametrize(
    "params", sweep([None, {"tile_q": 4, "tile_kv": 5}], but=[{"tile_q": 4, "tile_kv": 5}])
)
def test_attention_is_what_the_oracle_expects_whatever_the_tiles(params: dict[str, Any] | None) -> None:
    problem = AttentionProblem(heads=4, kv_heads=2, seq_q=9, seq_kv=13, head_dim=8, causal=True)
    inputs = make_inputs(problem)
    found = harness.attention(inputs.q, inputs.k, inputs.v, causal=True, params=params)
    assert expect(inputs, problem).check(found).ok


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"q": [[1.0]]}, "q: found list, expected a NumPy array"),
        ({"k": np.zeros((1, 2, 4), np.float32)}, r"k: found shape \[1, 2, 4\], expected \[batch, heads"),
        ({"bias": np.zeros((6, 6))}, "bias: found dtype float64, expected float32 as q has"),
        ({"threads": [1]}, r"target 'cpu': threads\S*: Input should be .*, found \[1\]"),
        ({"target": None}, "unknown target None; expected one of"),
        ({"target": "cpu:avx3"}, r"unknown chip of cpu 'avx3' \(did you mean avx2\?\); expected one of host"),
        ({"executor": []}, r"executor: found \[\], expected a name such as 'native'"),
        ({"params": "x"}, 'params: found "x", expected a dict'),
        ({"cu_seqlens_q": 5}, "q: found shape"),
        ({"q": np.zeros((1, 2, 0, 8), np.float32)}, r"q: found shape \[1, 2, 0, 8\], expected no dimension"),
        ({"params": {"tile_kw": 5}}, r"tile_kw: unknown key \(did you mean tile_kv\?\)"),
        ({"variant": "flahs"}, r"unknown variant 'flahs' \(did you mean flash\?\); expected one of"),
    ],
)
def test_what_is_wrong_with_the_arguments_of_attention_is_named(
    changed: dict[str, Any], message: str
) -> None:
    arguments = {name: np.zeros((1, 2, 6, 8), np.float32) for name in ("q", "k", "v")} | changed
    with pytest.raises(InputError, match=message):
        harness.attention(**arguments)


def test_what_attention_says_that_it_takes_is_what_it_takes() -> None:
    taken = list(inspect.signature(harness.attention).parameters)
    assert set(taken) == {"q", "k", "v", *CALL_OPTIONS, *CALL_FIELDS}


def test_an_executable_that_is_kept_checks_its_operands() -> None:
    problem = AttentionProblem(heads=2, seq_q=6, head_dim=8, bias=True)
    executable = harness.build(problem, variant="iree").executable()
    inputs = make_inputs(problem)
    arrays = (inputs.q, inputs.k, inputs.v)
    assert expect(inputs, problem).check(executable(*arrays, bias=inputs.bias)).ok
    for bias in (np.ones((6, 6), bool), np.ones((6, 6)), np.ones((5, 6), np.float32), None):
        with pytest.raises(InputError, match=r"^bias: "):
            executable(*arrays, bias=bias)


def test_what_is_no_input_is_refused_by_an_executable() -> None:
    problem = AttentionProblem(heads=2, seq_q=6, head_dim=8)
    executable = harness.build(problem).executable()
    inputs: Any = make_inputs(problem)
    with pytest.raises(InputError, match="q: found NoneType, expected a NumPy array or a tensor"):
        executable(None, inputs.k, inputs.v)
    for given in (None, (inputs.q, inputs.k, inputs.v)):
        with pytest.raises(InputError, match=r"inputs: found .*, expected Inputs"):
            executable.bind(given)


@pytest.mark.parametrize("ranks", sweep([1, 2], but=[2]))
def test_code_with_projections_says_what_it_needs(ranks: int) -> None:
    problem = AttentionProblem(heads=2, seq_q=8, head_dim=16, model_width=24)
    executable = harness.build(problem, variant="split-head", params={"ranks": ranks}).executable()
    inputs = make_inputs(problem)
    with pytest.raises(InputError, match="projections: none were given"):
        executable(inputs.q, inputs.k, inputs.v)


@pytest.mark.parametrize("problem", [None, {"heads": 2}])
def test_what_is_no_problem_is_not_built(problem: Any) -> None:
    with pytest.raises(InputError, match=r"problem: found .*, expected an AttentionProblem"):
        harness.build(problem)


@pytest.mark.parametrize("path", [5, None, ["x"]])
def test_what_is_no_path_is_not_loaded(path: Any) -> None:
    with pytest.raises(InputError, match=r"^path: found .+, expected the path of a run's folder"):
        harness.load(path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"experiment": 5}, "experiment: found 5, expected the path of an experiment"),
        ({"out": 5}, "out: found 5, expected the path of a folder"),
        ({"resume": "no"}, 'resume: found "no", expected True or False'),
        ({"timed": 1}, "timed: found 1, expected True or False"),
        ({"only": None}, r"x\.toml: no such file"),
    ],
)
def test_what_is_wrong_with_the_arguments_of_run_is_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        harness.run(**{"experiment": "x.toml", **arguments})


def test_a_run_stays_where_it_began_when_code_changes_to_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Elsewhere(PlainObserver):
        def started(self, case: Case, phase: str) -> None:
            os.chdir(tmp_path / "elsewhere")

    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "tiny.toml").write_text(TINY)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HARNESS_CACHE_DIR", "own-cache")
    monkeypatch.setattr("harness.bench.running.progress.make_observer", lambda plain: Elsewhere(sys.stderr))
    assert harness.run("tiny.toml", timed=False)["status"].tolist() == ["passed"]
    (run,) = run_paths(tmp_path / "results" / "tiny")
    assert (run / "results.parquet").is_file()
    assert any((tmp_path / "own-cache").glob("*/artifact.json"))
    assert not list((tmp_path / "elsewhere").iterdir())


def test_load_says_which_run_it_took_and_what_it_lacks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = collect("sweep", "?", "", "harness run")
    folders = [RunFolder.create(tmp_path, "sweep", manifest) for _ in range(3)]
    newest = run_paths(tmp_path / "sweep")[0]
    run = next(folder for folder in folders if folder.path == newest)
    run.append_result(example_result("a"))
    run.plan(["a", "b"], whole=["a", "b", "c"])
    assert harness.load(tmp_path / "sweep")["case"].tolist() == ["a"]
    first, second, third = capsys.readouterr().err.splitlines()
    assert first.startswith(f"harness: taken: {newest}, ")
    assert second.endswith("not run yet: 1 planned case; --resume goes on")
    assert third.endswith("not asked for: 1 case of the experiment")


def test_a_refusal_says_which_variants_can() -> None:
    problem = AttentionProblem(heads=1, seq_q=4, head_dim=8, model_width=16)
    with pytest.raises(UnsupportedError, match=r"model_width.*; variants that can: .*split-head"):
        harness.build(problem, variant="flash")


@pytest.mark.parametrize("variant", sweep(["flash", "unfused", "naive"], but=["flash"]))
@pytest.mark.parametrize("softcap", sweep([1e-30, 1e30], but=[1e30]))
def test_the_least_and_the_largest_softcap_are_computed(softcap: float, variant: str) -> None:
    """A query of zeros scores 0 with every key, which over a softcap without reciprocal would be NaN."""
    problem = PROBLEM.model_copy(update={"softcap": softcap})
    inputs = make_inputs(problem)
    inputs.q[0, 0, 0] = 0
    output = harness.attention(inputs.q, inputs.k, inputs.v, variant=variant, softcap=softcap)
    assert expect(inputs, problem).check(output).ok


def test_threads_of_a_caller_share_a_kernel_of_several_threads() -> None:
    problem = AttentionProblem(heads=4, seq_q=37, seq_kv=41, head_dim=8)

    def is_right(seed: int) -> bool:
        inputs = make_inputs(problem, seed=seed)
        found = [harness.attention(inputs.q, inputs.k, inputs.v, threads=2) for _ in range(8)]
        return all(expect(inputs, problem).check(output).ok for output in found)

    assert all([is_right(0), *at_once(is_right)])


class CountingTurns(Executable, BoundCall):
    """Code, and its call, that know whether a thread is in their turn."""

    def __init__(self) -> None:
        self.depth = self.ran = 0

    @contextmanager
    def turn(self) -> Iterator[None]:
        self.depth += 1
        yield
        self.depth -= 1

    def bind(self, inputs: Inputs) -> BoundCall:
        assert self.depth > 0
        return self

    def poison(self) -> None:
        assert self.depth > 0

    def run(self) -> None:
        assert self.depth > 0
        self.ran += 1

    def output(self) -> np.ndarray:
        assert self.depth > 0
        return np.full(PROBLEM.output_shape, self.ran, np.float32)


def test_whatever_a_program_does_with_loaded_code_is_in_its_turn() -> None:
    inner, inputs = CountingTurns(), make_inputs(PROBLEM)
    executable = CheckedExecutable(PROBLEM, inner)
    call = executable.bind(inputs)
    call.poison()
    call.run()
    assert call.output().max() == 1
    assert call.sample(0.0).calls == 1
    found = executable(inputs.q, inputs.k, inputs.v)
    assert (call.output().max(), found.max(), inner.depth) == (3, 3, 0)


def test_a_variant_that_leaves_out_an_output_is_told() -> None:
    """The example knows no log-sum-exp, and does not say so."""
    q = np.ones((1, 2, 4, 8), np.float32)
    with pytest.raises(HarnessError, match=r"^numpy-attention on numpy: no output log_sum_exp, found o"):
        harness.attention(q, q, q, variant="numpy-attention", target="numpy", log_sum_exp=True)


def test_a_call_that_says_the_same_again_is_checked_no_more_than_it_has_to_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = AttentionProblem(heads=3, seq_q=20, head_dim=8)
    first, second = (make_inputs(problem, seed=seed) for seed in (1, 2))
    found = harness.attention(first.q, first.k, first.v)
    monkeypatch.setattr("harness.api.problem_of", None)
    again = harness.attention(second.q, second.k, second.v)
    assert expect(second, problem).check(again).ok
    assert expect(first, problem).check(found).ok, "the first call's output is its own"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"k": np.zeros((1, 3, 20, 7), np.float32)}, "k: found shape"),
        ({"v": np.zeros((1, 3, 20, 8), np.float16)}, "v: found dtype"),
        ({"causal": 1}, "causal"),
        ({"params": {"tile_q": True}}, "tile_q"),
        ({"variant": ["flash"]}, "variant"),
    ],
)
def test_a_call_that_says_almost_the_same_is_checked(changes: dict[str, Any], message: str) -> None:
    inputs = make_inputs(AttentionProblem(heads=3, seq_q=20, head_dim=8))
    said = {"q": inputs.q, "k": inputs.k, "v": inputs.v, "causal": True, "params": {"tile_q": 1}}
    harness.attention(**said)
    with pytest.raises(InputError, match=message):
        harness.attention(**{**said, **changes})
