"""What the plugin does in a pytest run that has `--harness`."""

import os
import sys
from collections.abc import Generator, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.artifact.cache import cache_root
from harness.errors import HarnessError, InputError
from harness.experiment.experiment import load_experiment
from harness.experiment.shipped import find_experiment
from harness.machine.cores import available_cores
from harness.plurals import counted
from harness.printable import printable
from harness.pytest_plugin.benchmarks import skip_benchmarks, take_skip
from harness.pytest_plugin.items import (
    ENDED_BY,
    CaseItem,
    ExperimentFile,
    TimedCase,
    end_session,
    fail_left_out,
    is_left_out,
    names_of,
    rerun_of,
)
from harness.pytest_plugin.runs import Asked, ExperimentRun, OwnRun, WorkersPart, WorkersRun
from harness.reporting.job_summary import FailedCase, JobSummary, append_summary, job_summary
from harness.reporting.outcomes import Demands, failure_of
from harness.results.output_folder import ensure_writable_folder
from harness.running.runner import RunSettings
from harness.status import checked_line

MARKER = (
    "harness(case, variant, target, dtype, mask, causal, batch, heads, kv_heads, seq_q, seq_kv, head_dim): "
    "a case of an experiment; select with -m \"harness(variant='flash')\""
)
STEP_SUMMARY = "GITHUB_STEP_SUMMARY"
NOT_RUN = "not checked: it was skipped, or never came to its turn"
RUNS = "harness_runs"
"""Where the controller of pytest-xdist tells its workers the folder of each run, and the id of its file."""


def register(config: pytest.Config) -> None:
    """Read the experiments and let their cases be collected; raises `pytest.UsageError` for bad input."""
    try:
        asked = _asked(config)
    except HarnessError as error:
        lines = error.lines if isinstance(error, InputError) else [str(error)]
        raise pytest.UsageError(*(f"harness: {line}" for line in lines)) from None
    config.addinivalue_line("markers", MARKER)
    _collect(config, asked)
    config.pluginmanager.register(HarnessPlugin(config, asked), "harness-cases")


def _asked(config: pytest.Config) -> dict[Path, Asked]:
    """Return what is asked of each experiment, by its file.

    Paths are absolute: tests may change to other folders.
    """
    option = config.getoption
    if option("harness_timed") and _is_distributed(config):
        raise InputError(
            "--harness-timed: found -n, whose workers would time cases beside one another; "
            "expected one of the two; -n 0 takes back one in addopts"
        )
    jobs = option("harness_jobs")
    if jobs is not None and jobs < 1:
        raise InputError(f"--harness-jobs: found {jobs}, expected 1 or more")
    out = ensure_writable_folder(Path(option("harness_out")), "--harness-out").absolute()
    settings = RunSettings(
        timed=option("harness_timed"), jobs=jobs or available_cores(), cache_root=cache_root()
    )
    asked = {}
    for name in option("harness"):
        experiment = load_experiment(find_experiment(name))
        asked[Path(experiment.path or name)] = Asked(
            experiment=experiment,
            cases=experiment.cases(option("harness_only")),
            settings=settings,
            demands=Demands(experiment.check.supported, option("harness_strict")),
            out=out,
            command=sys.argv,
        )
    return asked


def _collect(config: pytest.Config, files: Iterable[Path]) -> None:
    """Let pytest collect these files: beside the paths that it was given, or instead of all tests."""
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args = [str(file) for file in files]
        return
    invoked_in = config.invocation_params.dir
    named = {(invoked_in / word.partition("::")[0]).resolve() for word in config.args}
    config.args = [*config.args, *(str(file) for file in files if file.resolve() not in named)]


def _is_distributed(config: pytest.Config) -> bool:
    """Whether this process is the controller of pytest-xdist, or one of its workers."""
    return hasattr(config, "workerinput") or (
        getattr(config.option, "dist", "no") != "no" and bool(getattr(config.option, "tx", None))
    )


def _node_id(config: pytest.Config, file: Path) -> str:
    """Return the id of an experiment's file among pytest's nodes, which those of its items begin with.

    It is the path from pytest's root, or the whole one of a file that lies elsewhere.  Workers of
    pytest-xdist are told it, for their root may be another one: pytest finds it from all words of the command
    line that name a file or folder, also where such a word is an option's value and was not there before.
    """
    path = Path(os.path.abspath(config.invocation_params.dir / file))
    if path.is_relative_to(config.rootpath):
        path = path.relative_to(config.rootpath)
    return path.as_posix()


def named_among(run: ExperimentRun, ids: Iterable[str]) -> list[str]:
    """Return the cases of a run, by their ids, whose items are among those that pytest calls by these.

    With `--dist loadgroup` the group of an item stands behind its name, which ends in a bracket.
    """
    start = f"{run.node_id}::"
    names = {word[len(start) : word.rfind("]") + 1] for word in ids if word.startswith(start)}
    return [case.id for name, case in names_of(run.asked.cases).items() if name in names]


class HarnessPlugin:
    """Collects the cases of experiments, and tells what became of them."""

    def __init__(self, config: pytest.Config, asked: dict[Path, Asked]) -> None:
        """Run nothing yet."""
        self._config = config
        self._runs: dict[Path, ExperimentRun] = {
            file.resolve(): self._run(config, str(file), wanted) for file, wanted in asked.items()
        }
        is_timed = config.getoption("harness_timed")
        self._with_benchmarks = is_timed and config.pluginmanager.hasplugin("benchmark")
        self._skips_benchmarks = self._with_benchmarks and take_skip(config)
        self._summaries = _summary_files(config)

    @staticmethod
    def _run(config: pytest.Config, file: str, asked: Asked) -> ExperimentRun:
        shared = getattr(config, "workerinput", None)
        if shared is not None:
            folder, node_id = shared[RUNS][file]
            return WorkersPart(
                asked,
                node_id,
                path=Path(folder),
                worker=shared["workerid"],
                workers=shared["workercount"],
            )
        node_id = _node_id(config, Path(file))
        return WorkersRun(asked, node_id) if _is_distributed(config) else OwnRun(asked, node_id)

    def pytest_report_header(self) -> list[str]:
        """Return a line for each experiment."""
        lines = []
        for run in self._runs.values():
            asked = run.asked
            is_timed = asked.settings.timed and asked.experiment.timing.enabled
            how = "checked and timed" if is_timed else "checked"
            lines.append(f"harness: {asked.experiment.path}: {counted(len(asked.cases), 'case')} to be {how}")
        return lines

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> ExperimentFile | None:
        """Return the collector of an experiment's cases."""
        run = self._runs.get(file_path.resolve())
        if run is None:
            return None
        with_benchmarks = self._with_benchmarks and run.asked.experiment.timing.enabled
        file: ExperimentFile = ExperimentFile.from_parent(
            parent, path=file_path, nodeid=run.node_id, run=run, with_benchmarks=with_benchmarks
        )
        return file

    def pytest_collection_modifyitems(self, items: Sequence[pytest.Item]) -> None:
        """Skip the benchmarks that are no cases, if they are to be skipped."""
        if self._skips_benchmarks:
            skip_benchmarks(item for item in items if not isinstance(item, TimedCase))

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Tell the runs which of their cases are left, after `-k`, `-m` and others have chosen."""
        ours = [item for item in session.items if isinstance(item, CaseItem)]
        for run in self._runs.values():
            run.select(item.case.id for item in ours if item.run is run)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker of pytest-xdist where its rows go, and what its items are called.

        The session ends where no folder for them can be made, as on a full disk.
        """
        try:
            node.workerinput[RUNS] = {
                str(run.asked.experiment.path): (str(run.open()), run.node_id)
                for run in self._runs.values()
                if isinstance(run, WorkersRun)
            }
        except HarnessError as error:
            end_session(str(error))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: Sequence[str]) -> None:
        """Learn from a worker which cases are left: the controller collects nothing."""
        for run in self._runs.values():
            run.select(named_among(run, ids))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """End the session as a worker of pytest-xdist has ended its own; pytest shows nothing of that."""
        reason = getattr(node, "workeroutput", {}).get(ENDED_BY)
        if reason is not None:
            end_session(reason)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Say where a skipped case stands, and how long a case took that was run together with others.

        Where every case must be checked, one that others skip fails.
        """
        report = yield
        if not isinstance(item, CaseItem):
            return report
        if is_left_out(item, report):
            fail_left_out(item, report)
        if report.when == "call":
            if report.skipped and isinstance(report.longrepr, tuple):
                report.longrepr = (str(item.path), 0, report.longrepr[2])
            elapsed = item.run.elapsed_s(item.case)
            report.duration = report.duration if elapsed is None else elapsed
        return report

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """End the runs, and write the summary of the job.

        The session fails where a case must be checked and has not been run.
        """
        for run in reversed(self._runs.values()):
            run.close()
        if hasattr(self._config, "workerinput") or self._config.option.collectonly:
            return
        self._append_summaries()
        left_out = any(run.asked.demands.is_strict and run.not_run() for run in self._runs.values())
        if left_out and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Say how many cases were checked, and where their rows are."""
        for run in self._runs.values():
            rows = run.rows()
            not_run = 0 if self._config.option.collectonly else len(run.not_run())
            if not rows and not not_run and not run.notes.lines:
                continue
            terminalreporter.ensure_newline()
            terminalreporter.section(f"harness: {run.asked.experiment.name}")
            for line in run.notes.lines:
                terminalreporter.write_line(printable(line))
            if rows or not_run:
                terminalreporter.write_line(checked_line([row.status for row in rows], not_run))
            if rows and run.folder is not None:
                terminalreporter.write_line(printable(f"results: {run.shown(run.folder.path)}"))

    def _append_summaries(self) -> None:
        """Append the summaries to the files that want them; one that cannot be written is a note."""
        for run in self._runs.values():
            for file, argument in self._summaries.items():
                try:
                    append_summary(file, job_summary(summary_of(run)), argument)
                except InputError as error:
                    run.notes.message(str(error))


def _summary_files(config: pytest.Config) -> dict[Path, str]:
    """Return the files that want a summary, each with what names it."""
    wanted = {f"${STEP_SUMMARY}": os.environ.get(STEP_SUMMARY)}
    wanted["--harness-summary"] = config.getoption("harness_summary")
    return {Path(file).resolve(): argument for argument, file in wanted.items() if file}


def summary_of(run: ExperimentRun) -> JobSummary:
    """Return what a session did to an experiment."""
    rows = run.rows()
    cases = {case.id: case for case in run.selected}
    failures = [(row, failure_of(row, run.asked.demands)) for row in rows]
    not_run = run.not_run()
    left_out = not_run if run.asked.demands.is_strict else []
    return JobSummary(
        experiment=run.asked.experiment.name,
        rows=rows,
        failed=[
            *(
                FailedCase(cases[row.case].describe(), reason, row.rerun or rerun_of(run, cases[row.case]))
                for row, reason in failures
                if reason is not None
            ),
            *(FailedCase(case.describe(), NOT_RUN, rerun_of(run, case)) for case in left_out),
        ],
        not_run=len(not_run),
        run=None if run.folder is None else run.shown(run.folder.path),
    )
