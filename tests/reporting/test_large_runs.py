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
from pathlib import Path
start = time.perf_counter()
what, *folders = sys.argv[1:]
if what == "load":
    from harness.results.loading import load
    rows = len(load(folders))
elif what == "report":
    from harness.reporting import make_report
    rows = sum(1 for _ in make_report(folders).summary_csv.open()) - 1
else:
    from harness.comparing.benchmark_json import benchmark_json
    from harness.comparing.comparison import compare_runs
    from harness.comparing.text import markdown, plain_lines
    from harness.results.loading import open_run
    comparison = compare_runs(*(open_run(Path(folder)) for folder in folders))
    letters = sum(map(len, [*plain_lines(comparison), markdown(comparison), *benchmark_json(comparison)]))
    rows = len(comparison.cases)
usage = resource.getrusage(resource.RUSAGE_SELF)
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(json.dumps({
    "rows": rows,
    "seconds": time.perf_counter() - start,
    "cpu_seconds": usage.ru_utime + usage.ru_stime,
    "megabytes": int(status["VmHWM"].split()[0]) * 1.024e-3,
}))
"""


def measured(what: str, *folders: Path) -> dict[str, float]:
    """Load, report or compare runs in a process of its own, and return what that took.

    Its memory is told from the one that it has been started by: `ru_maxrss` is inherited.
    """
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, what, *map(str, folders)], capture_output=True, text=True, check=True
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
@pytest.mark.parametrize(("rows", "megabytes"), [(100_000, 1000), (1_000_000, 4000)])
@pytest.mark.parametrize(
    ("what", "is_finished"), [("load", False), ("load", True), ("report", True), ("compare", True)], ids=str
)
def test_a_long_sweep_is_read_reported_and_compared_in_little_memory(
    tmp_path: Path, what: str, is_finished: bool, rows: int, megabytes: float
) -> None:
    """A run that is finished has a table; of one that was killed the journal is read."""
    slowdowns = {"old": 1.0, "new": 1.1} if what == "compare" else {"only": 1.0}
    folders = [write_large_run(tmp_path / name, rows, times) for name, times in slowdowns.items()]
    if is_finished:
        for folder in folders:
            RunFolder.open(folder).finish()
    found = measured(what, *folders)
    print(f"\n{what} of {rows} rows, {'finished' if is_finished else 'killed'}: {found}")
    assert found["rows"] == rows
    assert found["megabytes"] < megabytes
