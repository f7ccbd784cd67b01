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
print(json.dumps({
    "rows": rows,
    "seconds": time.perf_counter() - start,
    "cpu_seconds": usage.ru_utime + usage.ru_stime,
    "megabytes": usage.ru_maxrss / 1000,
}))
"""


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
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, what, str(folder)], capture_output=True, text=True, check=True
    )
    measured = json.loads(done.stdout.splitlines()[-1])
    print(f"\n{what} of {rows} rows, {'finished' if is_finished else 'killed'}: {measured}")
    assert measured["rows"] == rows
    assert measured["megabytes"] < megabytes
