"""What becomes of a case that runs on the emulator, in the worker that the runner uses."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from iree_modules import ATTENTION
from test_iree_runtime import without_barrier

from harness.bench.row_maker import CaseRecord
from harness.bench.running.checking import CaseCheck
from harness.bench.running.expectations import ExpectationFiles
from harness.bench.running.group import TIMED_EXECUTORS
from harness.bench.workers.process import WorkerFailure, WorkerProcess
from harness.oracle.expected import expect
from harness.problem.inputs import make_inputs
from harness.system.status import Status


@pytest.fixture
def worker() -> Iterator[WorkerProcess]:
    with WorkerProcess() as process:
        yield process


@pytest.fixture
def expected(tmp_path: Path) -> ExpectationFiles:
    file = tmp_path / "expected.npy"
    expect(make_inputs(ATTENTION, "normal", 0), ATTENTION).save(file)
    return ExpectationFiles({"normal": file})


def record_of(module, folder: Path) -> CaseRecord:
    return CaseRecord(module.artifact.case, artifact=module.artifact, folder=folder)


def test_a_right_case_passes_and_is_not_to_be_timed(attention, worker, expected, tmp_path):
    module = attention("sm_80")
    record = record_of(module, module.saved(tmp_path / "saved"))
    CaseCheck(worker, record, expected, 0, 60).run()
    assert record.verdict is not None
    assert record.verdict.ok
    assert record.executor not in TIMED_EXECUTORS


def test_findings_make_a_case_wrong(attention, worker, expected, tmp_path):
    module = attention("sm_80")
    record = record_of(module, module.saved(tmp_path / "saved", without_barrier(0)))
    with pytest.raises(WorkerFailure) as raised:
        CaseCheck(worker, record, expected, 0, 60).run()
    assert (raised.value.phase, raised.value.status) == ("run", Status.WRONG)
    assert "attention_dispatch_0" in raised.value.reason
