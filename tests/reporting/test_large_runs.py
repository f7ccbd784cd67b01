"""Reports and tables of very long sweeps; `pytest -m slow -s` on this file prints the numbers."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from large_runs import write_large_run

from harness.results.run_folder import RunFolder

MEASURE = """
import json, resource, sys, time
start = time.perf_counter()
if sys.argv[1] == "load":
    from harness.results.run_folder import load
    rows = len(load(sys.argv[2]))
else:
    from harness.reporting import make_report
    rows = sum(1 for _ in make_report([sys.argv[2]]).summary_csv.open()) - 1
usage = resource.getrusage(resource.RUSAGE_SELF)
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(json.dumps({
    "rows": rows,
    "seconds": time.perf_counter() - start,
    "cpu_seconds": usage.ru_utime + usage.ru_stime,
    "megabytes": int(status["VmHWM"].split()[0]) * 1.024e-3,
}))
"""


def measured(what: str, folder: Path) -> dict[str, float]:
    """Load or report a run in a process of its own, and return what that took.

    Its memory is told from the one that it has been started by: `ru_maxrss` is inherited.
    """
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, what, str(folder)], capture_output=True, text=True, check=True
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.sweep
def test_the_memory_that_is_measured_is_not_that_of_the_process_that_measures(tmp_path: Path) -> None:
    ballast = b"x" * 500_000_000
    found = measured("load", write_large_run(tmp_path, 10))
    assert found["rows"] == 10
    assert 10 < found["megabytes"] < len(ballast) / 1e6


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "megabytes"), [(100_000, 1000), (1_000_000, 8000)])
@pytest.mark.parametrize(
    ("what", "is_finished"), [("load", False), ("load", True), ("report", True)], ids=str
)
def test_a_long_sweep_is_read_and_reported_in_little_memory(
    tmp_path: Path, what: str, is_finished: bool, rows: int, megabytes: float
) -> None:
    """A run that is finished has a table; of one that was killed the journal is read."""
    folder = write_large_run(tmp_path, rows)
    if is_finished:
        RunFolder.open(folder).finish()
    found = measured(what, folder)
    print(f"\n{what} of {rows} rows, {'finished' if is_finished else 'killed'}: {found}")
    assert found["rows"] == rows
    assert found["megabytes"] < megabytes
