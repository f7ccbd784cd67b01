"""Rows: what is known of a case, put into the columns of a `Result`."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.artifact.artifact import Artifact
from harness.artifact.binary import PACKAGE, binary_digest
from harness.artifact.device_facts import DeviceFacts, DriverMetrics
from harness.bench.measure.rounds import TimedRound
from harness.bench.workers.protocol import Built
from harness.experiment.searched import ParamsSource, own_source
from harness.oracle.expected import Verdict
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.problem.fields import problem_fields
from harness.problem.traffic import least_traffic
from harness.results.default_out import DEFAULT_OUT, out_words
from harness.results.result import Result
from harness.results.statistics import nested_interval, noise, paired_ratio
from harness.system.errors import cut
from harness.system.printable import printable, shell_line
from harness.system.status import Status

NO_DEVICE = "no device"


@dataclass
class CaseRecord:
    """What the runner has learnt of a case so far."""

    case: Case
    key: str | None = None
    device: str | None = None
    code: Mapping[str, str] = field(default_factory=dict)
    """Digests of the sources that the key is of, by package."""
    artifact: Artifact | None = None
    folder: Path | None = None
    """Where the artifact lies in the cache."""
    candidate: int | None = None
    """Which of the artifact's candidates is loaded, once that is known."""
    verdict: Verdict | None = None
    """The oracle's verdict with the largest error for its tolerance."""
    distribution: str | None = None
    checked_inputs: str | None = None
    """What it is checked with, see `CheckSettings.inputs`; None before its check begins."""
    peak_bytes: int | None = None
    driver_metrics: DriverMetrics = field(default_factory=DriverMetrics)
    counters: Mapping[str, float] = field(default_factory=dict)
    trial: int | None = None
    """Its number in a search that tries it."""
    elapsed_s: float = 0.0
    """What was spent on this case alone so far."""

    @contextmanager
    def elapsing(self) -> Iterator[None]:
        """Count the time that passes in here as spent on this case."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.elapsed_s += time.perf_counter() - started

    @property
    def executor(self) -> str:
        """What runs the case's code."""
        return self.artifact.executor if self.artifact is not None else "none"

    @property
    def loader_module(self) -> str | None:
        """The module that loads the case's code, if anything does."""
        loader = self.artifact.loader if self.artifact is not None else ""
        return loader.partition(":")[0] or None

    def note_build(self, built: Built) -> None:
        """Keep what a build left behind."""
        self.artifact, self.folder = built.artifact, built.folder

    def note_candidate(self, number: int) -> None:
        """Keep which candidate the first load has taken: all others take it as well."""
        if self.candidate is None and self.artifact is not None:
            self.artifact, self.candidate = self.artifact.with_candidate(number), number

    def note_verdict(self, verdict: Verdict, distribution: str) -> None:
        """Keep a verdict if it is the worst so far."""
        if self.verdict is None or verdict.error_ratio > self.verdict.error_ratio:
            self.verdict, self.distribution = verdict, distribution


@dataclass(frozen=True)
class GroupTimes:
    """The rounds of a group of cases and what is needed to read them."""

    rounds: list[TimedRound]
    busy_limit: float
    baseline: Case | None = None
    baseline_key: str | None = None
    units: Mapping[str, str] = field(default_factory=dict)
    """The unit whose peak each case is compared with, by case id."""
    bandwidths: Mapping[str, float] = field(default_factory=dict)
    """Measured bytes/s of reading, by level of memory."""


@dataclass(frozen=True)
class RowMaker:
    """Makes the rows of one run."""

    experiment: str
    run: str
    source: tuple[str, ...]
    """What the command line names the cases by: the experiment's file, or `--bundle` and its folder."""
    command: str | None
    """`run` or `check`: what repeats a failure; None where no command has the case."""
    out: Path = DEFAULT_OUT
    commit: str | None = None
    """What is checked out to repeat a failure, where it is of another revision than what runs here."""
    package: Path = PACKAGE
    """This package's folder, as workers import it."""
    params_source: Callable[[Case], ParamsSource | None] = own_source
    """Says where the settings of a case come from."""

    def success(self, record: CaseRecord, status: Status, times: GroupTimes | None = None) -> Result:
        """Return the row of a case that passed, was emulated or could only be built."""
        if status.is_checked and not (record.verdict is not None and record.verdict.ok):
            raise ValueError(f"{record.case.id} cannot be {status}: no check has accepted it")
        columns = {}
        if times is not None:
            columns = {**timing_columns(record.case, times), **device_columns(record.case, times)}
        if record.artifact is not None and record.artifact.why_not_run is not None:
            columns |= {"phase": "build", "reason": record.artifact.why_not_run}
        return self._result(record, status=status, **columns)

    def failure(
        self, record: CaseRecord, status: Status, phase: str, reason: str, *, transient: bool = False
    ) -> Result:
        """Return the row of a case that ended in this phase for this reason."""
        rerun = None
        if status.is_failure and self.command is not None:
            only = ("--only", f"case={record.case.id}")
            rerun = shell_line(["harness", self.command, *self.source, *only, *out_words(self.out)])
            if self.commit is not None:
                rerun = f"{shell_line(['git', 'checkout', self.commit])} && {rerun}"
        reason = cut(printable(reason))
        return self._result(
            record, status=status, phase=phase, reason=reason, rerun=rerun, transient=transient
        )

    def _result(self, record: CaseRecord, **columns: Any) -> Result:
        case, artifact, verdict = record.case, record.artifact, record.verdict
        if artifact is not None:
            columns |= artifact_columns(artifact, case.problem)
            if record.folder is not None:
                columns["binary_digest"] = binary_digest(artifact, record.folder, self.package)
        if verdict is not None:
            columns |= {
                name: getattr(verdict, name) for name in ("max_abs_error", "error_ratio", "tolerance")
            }
        return Result(
            experiment=self.experiment,
            run=self.run,
            case=case.id,
            key=record.key,
            variant=case.variant,
            target=case.target,
            device=NO_DEVICE if artifact is not None and record.executor == "none" else record.device,
            peak_bytes=record.peak_bytes,
            elapsed_s=record.elapsed_s,
            **problem_columns(case.problem),
            **option_columns(case),
            params_source=self.params_source(case),
            trial=record.trial,
            **record.driver_metrics.model_dump(),
            counters=dict(record.counters),
            checked_inputs=record.checked_inputs,
            distribution=record.distribution,
            **columns,
        )


def problem_columns(problem: AttentionProblem) -> dict[str, Any]:
    """Return a problem's columns, one for each of its fields, and what follows from them."""
    flops, traffic = problem.flops(), least_traffic(problem)
    fields = problem_fields()
    columns = {field.column_name: field.column(getattr(problem, name)) for name, field in fields.items()}
    for name in ("mask_axes", "bias_axes"):
        if columns[name] == fields[name].default:
            columns[name] = None
    return columns | {
        "mask": problem.mask_name,
        "flops": flops,
        "flop_convention": problem.flop_convention,
        "bytes": problem.bytes(),
        "least_traffic_bytes": traffic,
        "intensity": flops / traffic if traffic else None,
    }


def option_columns(case: Case) -> dict[str, Any]:
    """Return the variant's parameters and the target's options; `threads` alone has a column of its own."""
    threads = case.target_options.get("threads")
    others = {name: value for name, value in case.target_options.items() if name != "threads"}
    return {
        "threads": threads if isinstance(threads, int) else None,
        "target_options": others,
        "params": case.model_copy(update={"target_options": others}).settings,
    }


def artifact_columns(artifact: Artifact, problem: AttentionProblem) -> dict[str, Any]:
    """Return what is known of a build without running it."""
    metrics = artifact.metrics
    recompute_factor = None
    if metrics.flops_executed is not None and problem.flops() > 0:
        recompute_factor = metrics.flops_executed / problem.flops()
    return {
        "executor": artifact.executor,
        "recompute_factor": recompute_factor,
        "chosen": artifact.chosen,
        "build_s": artifact.build_seconds,
        "stage_s": artifact.stage_seconds,
        **metrics.model_dump(exclude={"model"}),
        "model": metrics.model.columns() if metrics.model is not None else {},
    }


def timing_columns(case: Case, times: GroupTimes) -> dict[str, Any]:
    """Return the columns of a case's times: typical time, interval, noise, load, speed-up and throughput."""
    own = [taken for taken in times.rounds if case.id in taken.seconds]
    if not own:
        return {}
    seconds = [taken.seconds[case.id] for taken in own]
    starts = [taken.start for taken in own]
    typical = nested_interval(seconds, starts)
    load = sum(taken.load for taken in own) / len(own)
    tflops = case.problem.flops() / typical.value / 1e12 or None  # without a visible pair nothing is to do
    return {
        "time_s": typical.value,
        "time_low_s": typical.low,
        "time_high_s": typical.high,
        "samples": len(seconds),
        "starts": len(set(starts)),
        "noise": noise(seconds),
        "load": load,
        "busy": load > times.busy_limit,
        "tflops": tflops,
        "bandwidth_gb_s": {level: rate / 1e9 for level, rate in times.bandwidths.items()},
        **peak_columns(case, own, times.units.get(case.id)),
        **speedup_columns(case, own, times.baseline, times.baseline_key),
    }


def peak_columns(case: Case, own: list[TimedRound], unit: str | None) -> dict[str, Any]:
    """Return the columns of the comparison with the peak of a unit, over the rounds that have both."""
    rounds = [taken for taken in own if unit in taken.peaks]
    if unit is None or not rounds:
        return {}
    starts = [taken.start for taken in rounds]
    peaks = [taken.peaks[unit] for taken in rounds]
    columns = {
        "peak_unit": unit,
        "peak_tflops": nested_interval(peaks, starts).value / 1e12,
        "peak_noise": noise(peaks),
    }
    flops = case.problem.flops()
    if flops == 0:  # without a visible pair nothing is to do
        return columns
    at_peak = [flops / peak for peak in peaks]
    fraction = paired_ratio(at_peak, [taken.seconds[case.id] for taken in rounds], starts)
    return columns | {
        "fraction_of_peak": fraction.value,
        "fraction_of_peak_low": fraction.low,
        "fraction_of_peak_high": fraction.high,
    }


def device_columns(case: Case, times: GroupTimes) -> dict[str, Any]:
    """Return what a device told while it was timed, and how often it was slowed down."""
    facts = DeviceFacts.typical(taken.device[case.id] for taken in times.rounds if case.id in taken.device)
    throttled = [taken.throttled[case.id] for taken in times.rounds if case.id in taken.throttled]
    columns = facts.model_dump(exclude_none=True)
    if facts.clock_mhz is not None:
        columns["throttled_samples"] = len(throttled)
    if throttled and not any(case.id in taken.seconds for taken in times.rounds):
        reason = f"no time: the device was slowed down in all {len(throttled)} samples ({throttled[-1]})"
        columns |= {"phase": "time", "reason": reason}
    return columns


def speedup_columns(
    case: Case, own: list[TimedRound], baseline: Case | None, baseline_key: str | None
) -> dict[str, Any]:
    """Return the columns of the comparison with the baseline, over the rounds that have both."""
    rounds = [taken for taken in own if baseline is not None and baseline.id in taken.seconds]
    if baseline is None or not rounds:
        return {}
    speedup = paired_ratio(
        [taken.seconds[baseline.id] for taken in rounds],
        [taken.seconds[case.id] for taken in rounds],
        [taken.start for taken in rounds],
    )
    return {
        "baseline": baseline.variant,
        "baseline_case": baseline.id,
        "baseline_key": baseline_key,
        "speedup": speedup.value,
        "speedup_low": speedup.low,
        "speedup_high": speedup.high,
    }
