"""What the harness itself takes, beside what is asked of it.

    .venv/bin/python benchmarks/own_cost.py [-k NAME]

pytest-benchmark times each part in turn; the table at the end has the shortest and the median of its rounds,
and the figure that is asked for.  The shortest counts: what else a machine does is no cost of the harness.
Where PyTorch or a GPU is, nothing here uses it.
"""

import itertools
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import harness
from harness.artifact.cache import CACHE_DIR_VARIABLE
from harness.bench.building.case_build import build_request, key_request
from harness.bench.row_maker import problem_columns
from harness.bench.workers.process import WorkerProcess
from harness.experiment.experiment import parse_experiment
from harness.problem.case import Case
from harness.problem.inputs import make_inputs
from harness.reporting.report import make_report
from harness.results.manifest import collect
from harness.results.result import Result
from harness.results.run_folder import RunFolder
from harness.system.status import Status

LIMIT_S = 120.0
CASES = 10_000
ROWS = 100_000
RUNS = 2
"""Runs that hold these rows: an experiment may have 50,000 cases."""


@dataclass
class Table:
    """What was asked and what was measured, in seconds."""

    rows: list[tuple[str, float, float, float]] = field(default_factory=list)

    def add(self, what: str, asked_s: float, benchmark: Any, less_s: float = 0.0) -> None:
        """Add a row of a benchmark's rounds; `less_s` of each are not counted."""
        stats = benchmark.stats.stats
        self.rows.append((what, asked_s, stats.min - less_s, stats.median - less_s))

    def lines(self) -> Iterator[str]:
        """Yield the table, a line a row."""
        yield f"{'':<44}{'asked':>10}{'shortest':>10}{'median':>10}"
        for what, asked_s, least_s, median_s in self.rows:
            times = "".join(f"{1e3 * seconds:>7.1f} ms" for seconds in (asked_s, least_s, median_s))
            yield f"{what:<44}{times}{'' if least_s <= asked_s else '  missed'}"


@pytest.fixture(scope="session")
def table(request: pytest.FixtureRequest) -> Iterator[Table]:
    """The table, printed when all is measured."""
    measured = Table()
    yield measured
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        print("", *measured.lines(), sep="\n")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each part a cache of its own."""
    monkeypatch.setenv(CACHE_DIR_VARIABLE, str(tmp_path / "cache"))


def test_start_up(benchmark: Any, table: Table) -> None:
    """`harness --help`, a process."""
    command = [sys.executable, "-m", "harness", "--help"]
    run = partial(subprocess.run, command, check=True, stdout=subprocess.DEVNULL)
    benchmark.pedantic(run, rounds=15, warmup_rounds=1)
    table.add("harness --help", 0.15, benchmark)


def test_planning(benchmark: Any, table: Table) -> None:
    """An experiment's text to its cases."""
    text = f"""
    name = "planned"
    question = "How long does it take?"
    variants = ["flash", "naive", "unfused", "torch"]
    targets = ["cpu"]
    [problem]
    heads = {list(range(1, 26))}
    head_dim = {list(range(8, 88, 8))}
    seq = {list(range(64, 704, 64))}
    """

    def plan() -> int:
        return len(parse_experiment(text, "planned.toml").cases())

    assert benchmark.pedantic(plan, rounds=5) == CASES
    table.add(f"planning {CASES} cases", 1.0, benchmark)


def case_of(tile_kv: int) -> Case:
    """Return one of several cases that are built alike."""
    problem = harness.AttentionProblem(heads=2, seq_q=256, head_dim=64)
    return Case(problem=problem, variant="flash", target="cpu", params={"tile_q": 32, "tile_kv": tile_kv})


def plan_and_build(worker: WorkerProcess, case: Case) -> None:
    """Ask a worker for key and code of a case, as a run does."""
    found = worker.request(partial(key_request, case=case), LIMIT_S)
    worker.request(partial(build_request, case=case, key=found.key), LIMIT_S)


def test_a_cached_case(benchmark: Any, table: Table) -> None:
    """Key and code of a case that is in the cache."""
    with WorkerProcess(threads=1) as worker:
        benchmark.pedantic(plan_and_build, (worker, case_of(64)), rounds=20, warmup_rounds=1)
    table.add("a case that is in the cache", 0.05, benchmark)


def test_a_warm_build(benchmark: Any, table: Table) -> None:
    """Key and code of a case that is not in the cache, by a worker that has built others."""
    tiles = iter(range(32, 256, 8))
    with WorkerProcess(threads=1) as worker:
        next_case = lambda: ((worker, case_of(next(tiles))), {})  # noqa: E731
        benchmark.pedantic(plan_and_build, setup=next_case, rounds=8, warmup_rounds=1)
    table.add("building flash in a worker that has built", 0.5, benchmark)


def test_attention(benchmark: Any, table: Table) -> None:
    """`harness.attention` of a shape that was built, less what the kernel takes."""
    problem = harness.AttentionProblem(heads=1, seq_q=32, head_dim=32)
    inputs = make_inputs(problem, "normal", 0)
    arguments = inputs.q, inputs.k, inputs.v
    call = harness.build(problem).executable().bind(inputs)
    call.run()
    kernel_s = min(call.sample(1e-3).seconds for _ in range(20))
    assert np.array_equal(harness.attention(*arguments), call.output())
    benchmark.pedantic(harness.attention, arguments, rounds=2000, warmup_rounds=20)
    table.add("harness.attention, beyond the kernel", 3e-4, benchmark, kernel_s)


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    """Folders of runs that hold all rows, of five variants over lengths, widths, masks, types and heads."""
    axes = range(64, 6464, 64), (32, 64, 80, 96, 128), (False, True), ("f32", "bf16"), (1, 2, 4, 8, 16)
    variants = ("flash", "naive", "unfused", "torch", "iree-unfused")
    folders = []
    for _ in range(RUNS):
        manifest = collect("report", "How long does it take?", REPORTED, ["harness", "run", "report.toml"])
        folder = RunFolder.create(tmp_path / "results", "report", manifest)
        with (folder.path / "results.jsonl").open("w") as file:
            for number, (*shape, variant) in enumerate(itertools.product(*axes, variants)):
                row = row_of(number, folder.run, variant, *shape)
                file.write(row.model_dump_json() + "\n")
        folder.finish()
        folder.release()
        folders.append(folder.path)
    return folders


REPORTED = """
name = "report"
question = "How long does it take?"
variants = ["flash", "naive", "unfused", "torch", "iree-unfused"]
targets = ["cpu"]
baseline = "torch"
[problem]
head_dim = 64
seq = 64
"""


def row_of(
    number: int, run: str, variant: str, seq: int, head_dim: int, causal: bool, dtype: Any, heads: int
) -> Result:
    """Return a row with all that a timed case has."""
    problem = harness.AttentionProblem(heads=heads, seq_q=seq, head_dim=head_dim, causal=causal, dtype=dtype)
    seconds = problem.flops() / (5e10 + number % 7 * 1e9)
    return Result(
        experiment="report",
        run=run,
        case=f"{number:012x}",
        variant=variant,
        target="cpu",
        executor="native",
        device="a processor",
        status=Status.PASSED,
        threads=1,
        error_ratio=0.3,
        time_s=seconds,
        time_low_s=0.99 * seconds,
        time_high_s=1.01 * seconds,
        samples=100,
        starts=10,
        noise=0.01,
        load=0.0,
        busy=False,
        tflops=problem.flops() / seconds / 1e12,
        peak_unit="fma-f32",
        peak_tflops=0.12,
        peak_noise=0.01,
        fraction_of_peak=problem.flops() / seconds / 0.12e12,
        baseline="torch",
        speedup=1.1,
        speedup_low=1.09,
        speedup_high=1.11,
        stage_s={"payload": 0.1, "tiled": 0.1},
        **problem_columns(problem),
    )


def test_a_report(benchmark: Any, table: Table, runs: list[Path], tmp_path: Path) -> None:
    """Tables, figures and the page of two runs."""
    benchmark.pedantic(make_report, (runs, tmp_path / "report"), rounds=1)
    table.add(f"a report over {ROWS} rows", 10.0, benchmark)


if __name__ == "__main__":
    quietly = ("-q", "-p", "no:cacheprovider", "-p", "no:warnings", "--benchmark-quiet")
    sys.exit(pytest.main([__file__, "-o", "addopts=", "--benchmark-disable-gc", *quietly, *sys.argv[1:]]))
