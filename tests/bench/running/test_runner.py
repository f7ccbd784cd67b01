"""Runs of tiny sweeps; what becomes of a run that is killed stands in test_resume.py."""

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from example_cases import example_experiment

from harness import plugins
from harness.bench.row_maker import RowMaker
from harness.bench.running.progress import PlainObserver
from harness.bench.running.runner import RunSummary, run_experiment
from harness.bench.workers.process import WorkerProcess
from harness.experiment.experiment import Experiment
from harness.problem.case import Case
from harness.results.result import Result
from harness.results.run_folder import RunFolder
from harness.system.status import Status

pytestmark = pytest.mark.usefixtures("example_plugin")

FAILURES = {
    "abort": (Status.CRASHED, "build", "SIGABRT: Assertion `isa<To>(Val)' failed."),
    "accumulates": (Status.WRONG, "check", "(normal inputs"),
    "build-error": (Status.BUILD_FAILED, "build", "error: 'linalg.generic' op expected 3 operands"),
    "dies-when-timed": (Status.CRASHED, "time", "SIGSEGV"),
    "drifts": (
        Status.WRONG,
        "time",
        "right when it was checked, and wrong after the calls that were timed: error",
    ),
    "hang": (Status.TIMED_OUT, "run", "no answer within the limit of 1 s"),
    "hang-build": (Status.TIMED_OUT, "build", "no answer within the limit of 1.5 s"),
    "reads-beyond": (Status.WRONG, "check", "error inf, tolerance"),
    "knows-values": (Status.WRONG, "check", "right on its first inputs, and wrong on others: error"),
    "keeps-scales": (Status.WRONG, "check", "right on its first inputs, and wrong on others: error"),
    "mutates": (Status.WRONG, "check", "it changes its input k"),
    "not-importable": (Status.BUILD_FAILED, "build", "No module named 'a_package_that_is_not_installed'"),
    "oom": (Status.OUT_OF_MEMORY, "run", "Unable to allocate 64.0 MiB"),
    "races": (Status.WRONG, "check", "in call 19 on the same inputs: the first was right"),
    "raises": (Status.CRASHED, "run", "RuntimeError: the launch was refused"),
    "refused": (Status.UNSUPPORTED, "build", "mycc: no registers left"),
    "segfault": (Status.CRASHED, "run", "SIGSEGV"),
    "stale": (Status.WRONG, "check", "first bad: head 0, query 0"),
    "takes-only-values": (Status.WRONG, "check", "right on its first inputs, and wrong on others: error"),
    "writes-late": (Status.WRONG, "check", "first bad: head 1, query 0"),
    "wrong": (Status.WRONG, "check", "first bad: head 1, query 14"),
}


class Quiet(PlainObserver):
    """Says nothing; tests override what they wait for."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        self.kept_cases: list[str] = []
        self.was_done = False

    def planned(self, total: int) -> None:
        self.total = total

    def finished(self, case: Case, result: Result) -> None: ...

    def kept(self, case: Case, result: Result) -> None:
        self.kept_cases.append(case.variant)

    def message(self, text: str) -> None:
        self.messages.append(text)

    def done(self) -> None:
        self.was_done = True


def run(
    experiment: Experiment,
    out: Path,
    observer: Quiet | None = None,
    *,
    cases: Sequence[Case] | None = None,
    resume: bool = False,
    timed: bool = True,
    jobs: int = 1,
    dump: Path | None = None,
) -> RunSummary:
    return run_experiment(
        experiment,
        experiment.cases() if cases is None else cases,
        out=out,
        resume=resume,
        timed=timed,
        jobs=jobs,
        observer=observer or Quiet(),
        command=["harness", "run", "tiny.toml"],
        dump=dump,
    )


@pytest.fixture(scope="module")
def sweep(example_plugin: Path, tmp_path_factory: pytest.TempPathFactory) -> RunSummary:
    """All variants that misbehave, between two that do not."""
    experiment = example_experiment(
        ["numpy-attention", *FAILURES, "build-only"],
        baseline="numpy-attention",
        variant={"numpy-attention": {"block": [4, 16]}},
        limits={"build_timeout_s": 1.5, "run_timeout_s": 1.0, "memory_gb": 1.0},
    )
    return run(experiment, tmp_path_factory.mktemp("results"), jobs=2)


def living_workers() -> list[psutil.Process]:
    """Return the worker processes of this process; other tests may have left children of other kinds."""
    children = psutil.Process().children(recursive=True)
    return [child for child in children if "harness.bench.running.worker" in child.cmdline()]


@pytest.mark.parametrize("variant", FAILURES)
def test_each_misbehaviour_becomes_a_row(sweep: RunSummary, variant: str) -> None:
    (row,) = [result for result in sweep.results if result.variant == variant]
    status, phase, reason = FAILURES[variant]
    assert (row.status, row.phase) == (status, phase)
    assert reason in str(row.reason)
    rerun = f"harness run tiny --only case={row.case} --out {sweep.folder.parents[1]}"
    assert row.rerun == (rerun if status.is_failure else None)


def test_a_wrong_output_is_described_and_dumped_beside_what_was_expected(tmp_path: Path) -> None:
    experiment = example_experiment(["numpy-attention", "wrong"])
    rows = run(experiment, tmp_path / "results", timed=False, dump=tmp_path / "arrays").results
    (row,) = [row for row in rows if row.status is Status.WRONG]
    file = f"{row.case}-{row.distribution}.npz"
    assert "rows: head 1, " in str(row.reason)
    assert f"arrays: {file}" in str(row.reason)
    assert [path.name for path in (tmp_path / "arrays").iterdir()] == [file]
    with np.load(tmp_path / "arrays" / file) as arrays:
        assert arrays["found"].shape == arrays["expected"].shape
        assert np.abs(arrays["found"] - arrays["expected"]).max() == pytest.approx(row.max_abs_error)


class CheckCounter(Quiet):
    """Counts the checks that go on at a time."""

    def __init__(self) -> None:
        super().__init__()
        self.going_on: set[str] = set()
        self.most = 0

    def started(self, case: Case, phase: str) -> None:
        if phase == "check":
            self.going_on.add(case.id)
            self.most = max(self.most, len(self.going_on))

    def finished(self, case: Case, result: Result) -> None:
        self.going_on.discard(case.id)


@pytest.mark.sweep
def test_without_timings_as_many_checks_go_on_as_there_are_jobs(tmp_path: Path) -> None:
    jobs = 3
    variants = ["hang", "segfault", "numpy-attention", "wrong", "raises"]
    limits = {"run_timeout_s": 1.0, "memory_gb": 1.0}
    problem = {"seq": [8], "heads": 2, "head_dim": 4}
    experiment = example_experiment(variants, limits=limits, problem=problem)
    counter = CheckCounter()
    results = run(experiment, tmp_path, counter, timed=False, jobs=jobs).results
    assert counter.most == jobs
    expected = {name: FAILURES[name][0] for name in variants if name in FAILURES}
    assert {result.variant: result.status for result in results} == {
        **expected,
        "numpy-attention": Status.PASSED,
    }
    assert len(results) == 5
    assert not living_workers()


def test_the_sweep_goes_on_to_its_end(sweep: RunSummary) -> None:
    assert [result.variant for result in sweep.results] == [
        *["numpy-attention"] * 2,
        *FAILURES,
        "build-only",
    ]
    others = [result for result in sweep.results if result.variant not in FAILURES]
    assert [result.status for result in others] == [Status.PASSED, Status.PASSED, Status.BUILT]
    (hang,) = [result for result in sweep.results if result.variant == "hang"]
    assert hang.elapsed_s is not None
    assert hang.elapsed_s >= 1.0
    assert (others[-1].phase, others[-1].reason) == ("build", "no such device")


def test_a_passed_row_has_what_was_measured_and_counted(sweep: RunSummary) -> None:
    row = sweep.results[1]
    assert (row.executor, row.params, row.distribution, row.samples) == ("native", {"block": 16}, "normal", 4)
    assert row.time_s is not None
    assert row.tflops == pytest.approx(row.flops / row.time_s / 1e12)
    assert (row.recompute_factor, row.baseline) == (1.0, "numpy-attention")
    assert (sweep.results[0].params, sweep.results[0].speedup) == ({"block": 4}, 1.0)
    assert row.error_ratio is not None
    assert row.error_ratio < 1
    for measured in (row.speedup, row.fraction_of_peak, row.peak_bytes, row.load, row.build_s):
        assert measured is not None
    assert "source" in row.stage_s


def test_the_journal_has_each_row_once_and_every_round(sweep: RunSummary) -> None:
    lines = (sweep.folder / "results.jsonl").read_text().splitlines()
    assert sorted(json.loads(line)["case"] for line in lines) == sorted(row.case for row in sweep.results)
    rounds = RunFolder.open(sweep.folder).rounds()
    assert [taken.round for taken in rounds] == [0, 1, 2, 3]
    passed = {row.case for row in sweep.results if row.status is Status.PASSED}
    (drifts,) = (row.case for row in sweep.results if row.variant == "drifts")
    assert set(rounds[-1].seconds) == passed, "the end of a start shows what drifts"
    assert drifts in rounds[0].seconds


def test_nothing_is_compared_with_a_baseline_that_was_wrong_in_the_end(tmp_path: Path) -> None:
    experiment = example_experiment(["drifts", "numpy-attention"], baseline="drifts")
    wrong, right = run(experiment, tmp_path).results
    assert (wrong.status, wrong.phase, wrong.time_s) == (Status.WRONG, "time", None)
    assert right.time_s is not None
    assert (right.baseline, right.speedup) == (None, None)


def test_nothing_is_compared_with_a_baseline_that_has_not_passed_its_check(tmp_path: Path) -> None:
    """Also with one whose output is right for the inputs of timing."""
    experiment = example_experiment(
        ["overflows", "numpy-attention"],
        baseline="overflows",
        check={"distributions": ["normal", "large-logits"]},
    )
    observer = Quiet()
    failed, right = run(experiment, tmp_path, observer).results
    assert failed.time_s is None
    assert right.time_s is not None
    assert (right.baseline, right.baseline_case, right.speedup) == (None, None, None)
    told = f"no comparison with {experiment.cases()[0].describe()}: the baseline is {failed.status}"
    compared = [line for line in observer.messages if line.startswith("no comparison")]
    assert compared == [told]
    assert f"{failed.status}: {failed.reason}".startswith("wrong: error inf, ")


def test_the_log_of_a_failure_is_kept(sweep: RunSummary) -> None:
    (row,) = [result for result in sweep.results if result.variant == "abort"]
    assert str(row.reason).endswith(f"(log: logs/{row.case}.log)")
    assert "Loading the module" in (sweep.folder / "logs" / f"{row.case}.log").read_text()


def test_no_temporary_file_and_no_worker_is_left(sweep: RunSummary) -> None:
    assert {path.name for path in sweep.folder.iterdir()} == {
        "logs",
        "manifest.json",
        "results.jsonl",
        "results.parquet",
        "rounds.jsonl",
        "samples.parquet",
    }
    assert living_workers() == []


def test_a_row_s_peak_is_of_the_rounds_that_it_took_turns_in(sweep: RunSummary) -> None:
    rounds = RunFolder.open(sweep.folder).rounds()
    sampled = [taken.peak_flops["f32"] for taken in rounds if "f32" in taken.peak_flops]
    assert {taken.start for taken in rounds if taken.peak_flops} == {taken.start for taken in rounds}
    for row in sweep.results[:2]:
        assert row.peak_unit == "f32"
        assert min(sampled) <= 1e12 * (row.peak_tflops or 0.0) <= max(sampled)
        assert row.fraction_of_peak is not None


def test_each_start_has_new_processes(tmp_path: Path) -> None:
    class Notes(Quiet):
        def __init__(self) -> None:
            super().__init__()
            self.processes: list[set[int]] = []

        def round(self, group: str, number: int, widths: Mapping[str, float]) -> None:
            self.processes.append({worker.pid for worker in living_workers()})

    observer = Notes()
    timing = {"min_sample_s": 1e-5, "min_rounds": 4, "max_rounds": 4, "starts": 2}
    summary = run(example_experiment(["numpy-attention"], timing=timing), tmp_path, observer)
    assert [taken.start for taken in RunFolder.open(summary.folder).rounds()] == [0, 0, 1, 1]
    assert summary.results[0].starts == 2
    of_starts = [observer.processes[number] for number in (0, 2)]
    for earlier, later in pairwise(of_starts):
        assert later - earlier, "a candidate is started anew"
        assert earlier & later, "the peak's worker and the builder stay"


def test_what_is_timed_has_the_inputs_that_were_checked_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared: list[tuple[str, int]] = []
    begin_lives = WorkerProcess.begin_lives

    def noting(worker: WorkerProcess, request: Any, limit_s: float) -> None:
        prepared.append((request.keywords["distribution"], request.keywords["seed"]))
        begin_lives(worker, request, limit_s)

    monkeypatch.setattr(WorkerProcess, "begin_lives", noting)
    check = {"distributions": ["uniform", "normal"], "seed": 7}
    run(example_experiment(["numpy-attention"], check=check), tmp_path)
    assert prepared == [("uniform", 7)]


def test_what_would_take_the_emulator_too_long_is_built_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(plugins.target("cuda")), "why_no_device", lambda self, chip: "no driver")
    problem = {"heads": 1, "head_dim": 16, "seq": [64, 512], "dtype": "f16"}
    experiment = example_experiment(
        variants=["flash"], targets=["cuda:sm_80"], problem=problem, limits={"emulated_gflop": 0.01}
    )
    small, large = run(experiment, tmp_path).results
    assert (small.status, small.executor) == (Status.EMULATED, "emulator")
    assert (large.status, large.executor, large.tflops) == (Status.BUILT, "none", None)
    assert "0.0168 GFLOP, and the emulator takes up 0.01 at most" in (large.reason or "")


def test_an_oracle_that_fails_fails_the_cases_that_need_it(tmp_path: Path) -> None:
    experiment = example_experiment(["numpy-attention", "build-only"], check={"distributions": ["no-such"]})
    row, built = run(experiment, tmp_path).results
    assert (row.status, row.phase) == (Status.BUILD_FAILED, "check")
    assert str(row.reason).startswith("the oracle: unknown input distribution 'no-such'")
    assert built.status is Status.BUILT


@pytest.mark.sweep
def test_a_candidate_that_is_killed_while_others_are_timed_is_one_row(tmp_path: Path) -> None:
    others = {child.pid for child in psutil.Process().children()}

    class KillsOne(Quiet):
        def round(self, group: str, number: int, widths: Mapping[str, float]) -> None:
            if number == 0:
                started = [child for child in psutil.Process().children() if child.pid not in others]
                started.sort(key=psutil.Process.create_time)
                candidates = [child for child in started if "attention_example" in child.cmdline()[-1]]
                candidates[1].kill()

    experiment = example_experiment(["numpy-attention"], variant={"numpy-attention": {"block": [2, 4, 8]}})
    rows = run(experiment, tmp_path, KillsOne()).results
    assert [row.status for row in rows] == [Status.PASSED, Status.CRASHED, Status.PASSED]
    assert [row.phase for row in rows] == [None, "time", None]
    assert [row.samples for row in rows] == [4, None, 4]


@pytest.mark.sweep
def test_ctrl_c_ends_the_workers_and_writes_the_tables(tmp_path: Path) -> None:
    class Interrupts(Quiet):
        def round(self, group: str, number: int, widths: Mapping[str, float]) -> None:
            raise KeyboardInterrupt

    observer = Interrupts()
    with pytest.raises(KeyboardInterrupt):
        run(example_experiment(["raises", "numpy-attention"]), tmp_path, observer)
    folder = RunFolder.latest_in(tmp_path / "tiny")
    assert folder is not None
    assert [row.variant for row in folder.results()] == ["raises"]
    assert (folder.path / "results.parquet").exists()
    assert living_workers() == []
    assert observer.was_done


def test_an_exception_that_no_code_expects_is_a_row_with_a_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    success = RowMaker.success

    def fails_once(self: RowMaker, record, status, times=None):  # type: ignore[no-untyped-def]
        if record.case.params == {"block": 2}:
            raise ZeroDivisionError("nobody expected this")
        return success(self, record, status, times)

    monkeypatch.setattr(RowMaker, "success", fails_once)
    variants = {"numpy-attention": {"block": [2, 4]}}
    experiment = example_experiment(
        ["numpy-attention"], variant=variants, problem={"seq": [8, 16], "heads": 1, "head_dim": 4}
    )
    results = run(experiment, tmp_path, timed=False).results
    failed = [row for row in results if row.params == {"block": 2}]
    assert {(row.status, row.phase) for row in failed} == {(Status.CRASHED, "harness")}
    assert "the harness failed: ZeroDivisionError: nobody expected this (log: logs/" in str(failed[0].reason)
    logs = RunFolder.latest_in(tmp_path / "tiny").path / "logs"  # type: ignore[union-attr]
    assert "nobody expected this" in (logs / f"{failed[0].case}.log").read_text()
