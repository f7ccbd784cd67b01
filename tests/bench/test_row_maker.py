"""The columns of a row that come from timing."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from example_cases import accepted_record, example_case

from harness.artifact.artifact import Artifact, StaticMetrics
from harness.artifact.device_facts import DeviceFacts
from harness.bench.measure.rounds import TimedRound
from harness.bench.row_maker import (
    CaseRecord,
    GroupTimes,
    RowMaker,
    artifact_columns,
)
from harness.oracle.expected import Verdict
from harness.problem.attention_problem import AttentionProblem
from harness.results.result import Result
from harness.system.status import Status

CASE = example_case()
ROWS = RowMaker(experiment="tiny", run="r", source=("tiny.toml",), command="run")


def row_of(*rounds: TimedRound):
    return ROWS.success(accepted_record(CASE), Status.PASSED, GroupTimes(rounds=list(rounds), busy_limit=0.1))


def on_device(clock: int, launch_s: float) -> TimedRound:
    return TimedRound({CASE.id: 1e-3}, 0.0, device={CASE.id: DeviceFacts(launch_s=launch_s, clock_mhz=clock)})


def slowed_down(clock: int) -> TimedRound:
    return TimedRound(
        {}, 0.0, device={CASE.id: DeviceFacts(clock_mhz=clock)}, throttled={CASE.id: "power cap"}
    )


def test_a_device_s_launches_clocks_and_slow_samples_are_columns() -> None:
    row = row_of(on_device(1980, 1e-5), slowed_down(1200), on_device(1965, 3e-5))
    assert (row.time_s, row.samples) == (1e-3, 2)
    assert (row.launch_s, row.clock_mhz, row.throttled_samples) == (2e-5, 1965, 1)


def test_without_any_sample_that_counts_the_row_says_why_it_has_no_time() -> None:
    row = row_of(slowed_down(1200), slowed_down(1100))
    assert (row.status, row.time_s, row.throttled_samples) == (Status.PASSED, None, 2)
    assert row.reason == "no time: the device was slowed down in all 2 samples (power cap)"


def test_options_that_are_called_like_a_column_or_a_parameter_stand_among_the_parameters() -> None:
    options = {"workgroup_size": 64, "executor": "opencl", "tile_q": 16}
    case = CASE.model_copy(update={"params": {"tile_q": 8}, "target_options": options})
    row = ROWS.success(CaseRecord(case), Status.BUILT)
    expected = {"workgroup_size": 64, "executor": "opencl", "tile_q": 8, "target.tile_q": 16}
    assert row.params == expected
    assert "target.tile_q=16 tile_q=8 workgroup_size=64" in case.describe()


def test_what_repeats_a_failure_is_read_by_a_shell_as_it_was_meant() -> None:
    rows = RowMaker(experiment="tiny", run="r", source=("my $(touch x);.toml",), command="check")
    row = rows.failure(CaseRecord(CASE), Status.CRASHED, "run", "SIGSEGV")
    assert row.rerun == f"harness check 'my $(touch x);.toml' --only case={CASE.id}"
    elsewhere = replace(rows, out=Path("my results")).failure(CaseRecord(CASE), Status.CRASHED, "run", "")
    assert elsewhere.rerun == f"{row.rerun} --out 'my results'"
    revision = replace(rows, commit="0123abc").failure(CaseRecord(CASE), Status.CRASHED, "run", "")
    assert revision.rerun == f"git checkout 0123abc && {row.rerun}"


def test_a_reason_is_cut_and_printable() -> None:
    row = ROWS.failure(CaseRecord(CASE), Status.CRASHED, "run", "\x1b[31m" + "x" * 10_000_000)
    assert str(row.reason).startswith("\\x1b[31mxxx")
    assert str(row.reason).endswith("more characters)")
    assert len(str(row.reason)) < 1100


BASELINE = example_case(block=4)


def timed(*rounds: TimedRound, **settings: Any) -> Result:
    times = GroupTimes(rounds=list(rounds), busy_limit=0.1, baseline=BASELINE, **settings)
    return ROWS.success(accepted_record(CASE), Status.PASSED, times)


def pair(baseline_s: float, seconds: float, load: float = 0.0, start: int = 0) -> TimedRound:
    return TimedRound({BASELINE.id: baseline_s, CASE.id: seconds}, load, start)


def test_a_speed_up_is_the_baseline_s_time_over_this_one_s() -> None:
    row = timed(*[pair(3e-3 + number * 1e-5, 1e-3) for number in range(6)])
    assert (row.baseline, row.speedup) == (BASELINE.variant, pytest.approx(3.025))
    assert (row.speedup_low, row.speedup_high) == (pytest.approx(3.0), pytest.approx(3.05))


def test_times_are_compared_within_their_rounds() -> None:
    """Sorted, both have the same times."""
    drifting = [1e-3, 2e-3, 4e-3, 8e-3, 16e-3, 32e-3]
    row = timed(*[pair(2 * seconds, seconds) for seconds in drifting[:5]], pair(1e-3, 32e-3))
    assert row.speedup == pytest.approx(2.0)
    rounds = [
        pair(later, earlier) for earlier, later in zip(drifting, drifting[1:] + drifting[:1], strict=True)
    ]
    assert timed(*rounds).speedup == pytest.approx(2.0)


def test_intervals_know_the_starts() -> None:
    rounds = [
        pair(1e-3 * (1.01 if start % 2 else 0.99), 1e-3, start=start) for start in range(4) for _ in range(9)
    ]
    row = timed(*rounds)
    assert (row.samples, row.starts) == (36, 4)
    assert row.speedup_low is not None
    assert row.speedup_low < 0.985


def test_a_time_is_the_geometric_mean_of_its_starts() -> None:
    assert timed(pair(1.0, 1e-3, start=0), pair(1.0, 4e-3, start=1)).time_s == pytest.approx(2e-3)


def test_the_recompute_factor_is_what_is_executed_over_what_is_needed() -> None:
    problem = CASE.problem
    artifact = Artifact(
        case=CASE,
        key="k",
        executor="native",
        loader="package.module:function",
        metrics=StaticMetrics(flops_executed=3 * problem.flops()),
    )
    assert artifact_columns(artifact, problem)["recompute_factor"] == 3.0


def test_throughput_is_the_problem_s_operations_over_the_time() -> None:
    row = timed(pair(1.0, 2e-3))
    assert row.tflops == pytest.approx(CASE.problem.flops() / 2e-3 / 1e12)


UNITS = {CASE.id: "fma-f32"}


def beside_peak(seconds: float, flops: float | None, start: int = 0) -> TimedRound:
    return replace(pair(1.0, seconds, start=start), peaks={} if flops is None else {"fma-f32": flops})


def test_a_fraction_of_the_peak_is_throughput_over_peak() -> None:
    flops_per_second = CASE.problem.flops() / 2e-3
    row = timed(*[beside_peak(2e-3, 4 * flops_per_second)] * 6, units=UNITS)
    assert row.fraction_of_peak == pytest.approx(0.25)
    assert (row.fraction_of_peak_low, row.fraction_of_peak_high) == (pytest.approx(0.25),) * 2
    assert (row.peak_unit, row.peak_noise) == ("fma-f32", 0.0)
    assert row.peak_tflops == pytest.approx(4 * flops_per_second / 1e12)


def test_a_fraction_of_the_peak_is_taken_within_rounds() -> None:
    """Of a machine that becomes twice as slow from round to round the fraction is steady."""
    flops_per_second = CASE.problem.flops() / 1e-3
    rounds = [beside_peak(1e-3 * 2**number, 2 * flops_per_second / 2**number) for number in range(6)]
    row = timed(*rounds, beside_peak(1e-3, None), units=UNITS)
    assert row.fraction_of_peak == pytest.approx(0.5)
    assert row.fraction_of_peak_low == pytest.approx(0.5)
    assert row.peak_noise is not None
    assert row.peak_noise > 1


def test_a_row_has_the_peak_of_its_own_unit() -> None:
    rounds = [replace(pair(1.0, 1e-3), peaks={"fma-f32": 1e12, "dot-bf16": 2e12})] * 6
    row = timed(*rounds, units={CASE.id: "dot-bf16", BASELINE.id: "fma-f32"})
    assert (row.peak_unit, row.peak_tflops) == ("dot-bf16", pytest.approx(2.0))
    assert timed(*rounds, units={CASE.id: "none"}).peak_tflops is None


def test_bandwidths_are_in_gigabytes() -> None:
    row = timed(pair(1.0, 2e-3), bandwidths={"L1": 4e11, "memory": 2e10})
    assert row.bandwidth_gb_s == {"L1": 400.0, "memory": 20.0}


def test_more_than_the_peak_is_a_fraction_above_one() -> None:
    flops_per_second = CASE.problem.flops() / 2e-3
    row = timed(beside_peak(2e-3, 0.8 * flops_per_second), units=UNITS)
    assert row.fraction_of_peak == pytest.approx(1.25)
    assert row.fraction_of_peak_low is None, "one round bounds nothing"


def test_the_worst_verdict_of_all_distributions_is_kept() -> None:
    record = CaseRecord(CASE)
    for ratio, distribution in ((0.2, "normal"), (0.7, "uniform"), (0.3, "constant")):
        verdict = Verdict(ok=True, max_abs_error=ratio, error_ratio=ratio, tolerance=1.0)
        record.note_verdict(verdict, distribution)
    row = ROWS.success(record, Status.PASSED)
    assert (row.error_ratio, row.distribution) == (0.7, "uniform")


def test_load_is_the_mean_over_the_rounds() -> None:
    assert timed(pair(1.0, 1.0, load=0.1), pair(1.0, 1.0, load=0.4)).load == pytest.approx(0.25)


@pytest.mark.parametrize(("load", "busy"), [(0.09, False), (0.11, True)])
def test_a_row_is_busy_above_the_limit(load: float, busy: bool) -> None:
    assert timed(pair(1.0, 1.0, load=load)).busy is busy


def test_least_traffic_and_intensity_are_columns() -> None:
    problem = CASE.problem
    row = ROWS.success(accepted_record(CASE), Status.PASSED)
    assert row.bytes == problem.bytes() == 4 * 4 * problem.heads * problem.seq_q * problem.head_dim
    assert row.least_traffic_bytes == row.bytes
    assert row.intensity == pytest.approx(problem.flops() / problem.bytes())


def test_a_case_without_visible_pairs_has_a_time_and_no_rate() -> None:
    nothing = AttentionProblem(batch=1, heads=1, seq_q=4, head_dim=4, kv_lengths=(0,))
    case = CASE.model_copy(update={"problem": nothing})
    rounds = [TimedRound({case.id: 1e-5}, 0.0, peaks={"fma-f32": 1e9})] * 6
    times = GroupTimes(rounds=rounds, busy_limit=0.1, units={case.id: "fma-f32"})
    row = ROWS.success(accepted_record(case), Status.PASSED, times)
    assert (row.time_s, row.tflops, row.fraction_of_peak) == (pytest.approx(1e-5), None, None)
    assert (row.flops, row.intensity) == (0, 0.0)


@pytest.mark.parametrize("status", [Status.PASSED, Status.EMULATED])
def test_nothing_passes_without_a_verdict_that_accepts_it(status: Status) -> None:
    refused = CaseRecord(CASE)
    refused.note_verdict(Verdict(ok=False, max_abs_error=1.0, error_ratio=9.0, tolerance=0.1), "normal")
    for record in (CaseRecord(CASE), refused):
        with pytest.raises(ValueError, match="no check has accepted it"):
            ROWS.success(record, status)
    assert ROWS.success(accepted_record(CASE), status).status is status
