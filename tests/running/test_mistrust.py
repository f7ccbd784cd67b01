"""What workers say is not believed: whatever they answer, a row is made and the sweep goes on."""

from collections.abc import Iterator
from pathlib import Path

import pandas
import pytest
from example_cases import example_case, example_experiment
from test_runner import Quiet, run

import harness
from harness.errors import InputError
from harness.results.row_maker import RowMaker
from harness.results.run_folder import RunFolder
from harness.running.runner import RunSummary
from harness.status import Status
from harness.workers.process import WorkerFailure, WorkerProcess
from harness.workers.protocol import Checked, KeyFound, KeyRequest, PeakMeasured, Ran, Sampled

pytestmark = pytest.mark.usefixtures("example_plugin")


@pytest.fixture(scope="module")
def sweep(example_plugin: Path, tmp_path_factory: pytest.TempPathFactory) -> RunSummary:
    experiment = example_experiment(
        ["garbage", "answers-twice", "miscounts", "misreads-clock", "numpy-attention"],
        variant={"misreads-clock": {"mistake": [1, 2, 3, 4]}},
    )
    return run(experiment, tmp_path_factory.mktemp("results"))


def rows(sweep: RunSummary, variant: str) -> Iterator[tuple[Status, str | None, str]]:
    return ((row.status, row.phase, str(row.reason)) for row in sweep.results if row.variant == variant)


def test_an_answer_that_is_not_json_is_a_row(sweep: RunSummary) -> None:
    ((status, phase, reason),) = rows(sweep, "garbage")
    assert (status, phase) == (Status.CRASHED, "build")
    assert "the worker misbehaved: Invalid JSON" in reason


def test_a_worker_that_forks_answers_once(sweep: RunSummary) -> None:
    ((status, _, _),) = rows(sweep, "answers-twice")
    assert status is Status.PASSED


def test_counts_beyond_64_bits_are_a_row(sweep: RunSummary) -> None:
    ((status, phase, reason),) = rows(sweep, "miscounts")
    assert (status, phase) == (Status.BUILD_FAILED, "build")
    assert reason.startswith("variant 'miscounts': build: metrics.flops_executed: found ")


def test_samples_that_no_clock_can_take_are_rows(sweep: RunSummary) -> None:
    found = list(rows(sweep, "misreads-clock"))
    assert [(status, phase) for status, phase, _ in found] == [(Status.CRASHED, "time")] * 4
    assert all("seconds" in reason for *_, reason in found)


def test_the_others_are_timed_and_the_tables_written(sweep: RunSummary) -> None:
    ((status, _, _),) = rows(sweep, "numpy-attention")
    assert status is Status.PASSED
    assert len(pandas.read_parquet(sweep.folder / "results.parquet")) == len(sweep.results) == 8
    assert len(harness.load(sweep.folder)) == 8


class Says(WorkerProcess):
    """A worker in whose place a test answers."""

    def __init__(self, answer: bytes) -> None:
        super().__init__()
        self._answer = answer

    def receive(self):  # type: ignore[no-untyped-def]
        self._pending = bytearray(self._answer)
        return super().receive()


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"nothing\n", "Invalid JSON"),
        (b'{"kind": "dance"}\n', "does not match any of the expected tags"),
        (b'{"kind": "done"}\n', "Done where KeyFound was to be the answer"),
        (b'{"kind":"key-found","key":"k","device":"d"}\n{"kind":"done"}\n', "answered twice"),
        (b"[" * 20_000_000, "longer than"),
        (b"[" * 100_000 + b"\n", "recursion limit"),
    ],
)
def test_an_answer_that_is_none_ends_the_worker(answer: bytes, reason: str) -> None:
    with Says(answer) as worker:
        assert worker.pid
        with pytest.raises(WorkerFailure) as caught:
            worker.request(KeyRequest(case=example_case()), 30, KeyFound)
        assert (caught.value.status, worker.alive) == (Status.CRASHED, False)
    assert caught.value.reason.startswith("the worker misbehaved: ")
    assert reason in caught.value.reason


@pytest.mark.parametrize(
    ("model", "values"),
    [
        (Sampled, {"seconds": 0.0, "calls": 1}),
        (Sampled, {"seconds": 1e-300, "calls": 1}),
        (Sampled, {"seconds": 1.0, "calls": 0}),
        (Sampled, {"seconds": 1.0, "calls": 2**63}),
        (Sampled, {"seconds": 1.0, "calls": 1, "device": {"launch_s": float("nan")}}),
        (Sampled, {"seconds": 1.0, "calls": 1, "device": {"clock_mhz": -1}}),
        (Ran, {"peak_bytes": 2**63}),
        (PeakMeasured, {"flops": float("nan")}),
        (PeakMeasured, {"flops": 0.0}),
        (PeakMeasured, {"flops": 1.0, "bandwidths": {"memory": float("inf")}}),
        (Checked, {"ok": True, "max_abs_error": 1.0, "error_ratio": 2.0, "tolerance": 0.5}),
        (Checked, {"ok": True, "max_abs_error": float("nan"), "error_ratio": 0.5, "tolerance": 0.5}),
    ],
)
def test_numbers_that_cannot_be_are_refused(model: type, values: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="validation error"):
        model(**values)


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


def test_a_problem_of_more_operations_than_can_be_counted_is_refused(tmp_path: Path) -> None:
    problem = {"seq": 2**20, "heads": 2**20, "head_dim": 8}
    with pytest.raises(InputError, match="FLOPs is too large, expected fewer than 2⁶³"):
        run(example_experiment(["numpy-attention"], problem=problem), tmp_path, Quiet())
