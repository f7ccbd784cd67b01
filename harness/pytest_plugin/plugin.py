"""What the plugin does in a pytest run that has `--harness`."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from harness.bench.running.runner import RunSettings
from harness.experiment.experiment import named_experiment
from harness.pytest_plugin.items import CaseItem, ExperimentFile, check_case, time_case
from harness.pytest_plugin.runs import ExperimentRun
from harness.reporting.job_summary import FailedCase, JobSummary, append_summary, job_summary
from harness.reporting.outcomes import Demands, failure_of, item_file
from harness.results.output_folder import ensure_writable_folder
from harness.results.run_folder import RunFolder
from harness.system.errors import HarnessError, InputError
from harness.system.machine.cores import available_cores
from harness.system.printable import printable
from harness.system.status import checked_line
from harness.system.storage.cache_folder import cache_root

MARKER = (
    "harness(case, variant, target, dtype, mask, causal, batch, heads, kv_heads, seq_q, seq_kv, head_dim): "
    "a case of an experiment; select with -m \"harness(variant='flash')\""
)
STEP_SUMMARY = "GITHUB_STEP_SUMMARY"
RUNS = "harness_runs"
"""Where the controller of pytest-xdist tells its workers the folder of each run."""


def register(config: pytest.Config) -> None:
    """Read the experiments and let their cases be collected; raises `pytest.UsageError` for bad input."""
    try:
        runs = _runs(config)
    except HarnessError as error:
        lines = error.lines if isinstance(error, InputError) else [str(error)]
        raise pytest.UsageError(*(f"harness: {line}" for line in lines)) from None
    config.addinivalue_line("markers", MARKER)
    _collect(config, runs)
    config.pluginmanager.register(HarnessPlugin(config, runs), "harness-cases")


def _runs(config: pytest.Config) -> dict[Path, ExperimentRun]:
    """Return the run of each experiment, by its file; paths are absolute: tests may change folders."""
    option, worker = config.getoption, getattr(config, "workerinput", None)
    is_distributed = worker is not None or getattr(config.option, "dist", "no") != "no"
    if option("harness_timed") and is_distributed:
        raise InputError(
            "--harness-timed: found -n, whose workers would time cases beside one another; "
            "expected one of the two; -n 0 takes back one in addopts"
        )
    out = ensure_writable_folder(Path(option("harness_out")), "--harness-out").absolute()
    jobs = option("harness_jobs") or available_cores()
    settings = RunSettings(
        timed=option("harness_timed"),
        jobs=jobs if worker is None else worker["workercount"],
        cache_root=cache_root(),
    )
    runs = {}
    for name in option("harness"):
        experiment = named_experiment(name)
        file = Path(experiment.path or name)
        demands = Demands(experiment.check.supported, option("harness_strict"))
        run = ExperimentRun(
            experiment, experiment.cases(option("harness_only"), "--harness-only"), settings, demands, out
        )
        if worker is not None:
            run.worker, run.folder = worker["workerid"], RunFolder.open(Path(worker[RUNS][str(file)]))
        runs[file] = run
    return runs


def _collect(config: pytest.Config, files: Iterable[Path]) -> None:
    """Let pytest collect these files: beside the paths that it was given, or instead of all tests."""
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args = [str(file) for file in files]
        return
    invoked_in = config.invocation_params.dir
    named = {(invoked_in / word.partition("::")[0]).resolve() for word in config.args}
    config.args = [*config.args, *(str(file) for file in files if file.resolve() not in named)]


class HarnessPlugin:
    """Collects the cases of experiments, and tells what became of them."""

    def __init__(self, config: pytest.Config, runs: dict[Path, ExperimentRun]) -> None:
        """Run nothing yet; `--benchmark-skip` of a project's `addopts` does not skip cases that are timed."""
        self._config = config
        self._runs = {file.resolve(): run for file, run in runs.items()}
        self._with_benchmarks = config.getoption("harness_timed") and config.pluginmanager.hasplugin(
            "benchmark"
        )
        if self._with_benchmarks:
            config.option.benchmark_skip = False
        files = [os.environ.get(STEP_SUMMARY), config.getoption("harness_summary")]
        self._summaries = [Path(file).absolute() for file in files if file]

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> ExperimentFile | None:
        """Return the collector of an experiment's cases, by its path from pytest's root if it lies there."""
        run = self._runs.get(file_path.resolve())
        if run is None:
            return None
        node_id = item_file(file_path, self._config.rootpath)
        file: ExperimentFile = ExperimentFile.from_parent(parent, path=file_path, nodeid=node_id)
        file.run = run
        file.test = time_case if self._with_benchmarks and run.experiment.timing.enabled else check_case
        return file

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Tell the runs which of their cases are left, after `-k`, `-m` and others have chosen."""
        items = [item for item in session.items if isinstance(item, CaseItem)]
        for run in self._runs.values():
            run.select([item.case for item in items if item.run is run])

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker of pytest-xdist where its rows go; without a folder for them the session ends."""
        try:
            node.workerinput[RUNS] = {
                str(run.experiment.path): str(run.open_for_workers()) for run in self._runs.values()
            }
        except HarnessError as error:
            pytest.exit(f"harness: {printable(str(error))}", returncode=pytest.ExitCode.INTERRUPTED)

    def pytest_sessionfinish(self) -> None:
        """End the runs, and write the summary of the job."""
        for run in reversed(self._runs.values()):
            run.close()
        if hasattr(self._config, "workerinput") or self._config.option.collectonly:
            return
        for run in self._runs.values():
            for file in self._summaries:
                try:
                    append_summary(file, job_summary(summary_of(run)), "--harness-summary")
                except InputError as error:
                    run.notes.message(str(error))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Say how many cases were checked, and where their rows are."""
        for run in self._runs.values():
            rows, lines = run.rows(), list(run.notes.lines)
            if rows and run.folder is not None:
                statuses = [row.status for row in rows]
                lines.append(checked_line(statuses, len(run.selected) - len(rows)))
                lines.append(f"results: {run.folder.path}")
            if lines:
                terminalreporter.section(f"harness: {run.experiment.name}")
            for line in lines:
                terminalreporter.write_line(printable(line))


def summary_of(run: ExperimentRun) -> JobSummary:
    """Return what a session did to an experiment."""
    rows, cases = run.rows(), {case.id: case for case in run.selected}
    reasons = {row.case: failure_of(row, run.demands) for row in rows}
    return JobSummary(
        experiment=run.experiment.name,
        rows=rows,
        failed=[
            FailedCase(cases[case].describe(), reason, run.rerun(cases[case]))
            for case, reason in reasons.items()
            if reason is not None
        ],
        not_run=len(cases) - len(rows),
        run=None if run.folder is None else str(run.folder.path),
    )
