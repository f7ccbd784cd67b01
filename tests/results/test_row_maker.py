"""The columns of a row that come from timing."""

from example_cases import example_case

from harness.measure.rounds import TimedRound
from harness.results.row_maker import CaseRecord, GroupTimes, RowMaker
from harness.status import Status

CASE = example_case()
ROWS = RowMaker(experiment="tiny", run="r", source=("tiny.toml",), command="run")


def row_of(*rounds: TimedRound):
    return ROWS.success(CaseRecord(CASE), Status.PASSED, GroupTimes(rounds=list(rounds), busy_limit=0.1))


def on_device(clock: int, launch_s: float) -> TimedRound:
    return TimedRound({CASE.id: 1e-3}, 0.0, launch_s={CASE.id: launch_s}, clock_mhz={CASE.id: clock})


def slowed_down(clock: int) -> TimedRound:
    return TimedRound({}, 0.0, clock_mhz={CASE.id: clock}, throttled={CASE.id: "power cap"})


def test_a_device_s_launches_clocks_and_slow_samples_are_columns() -> None:
    row = row_of(on_device(1980, 1e-5), slowed_down(1200), on_device(1965, 3e-5))
    assert (row.time_s, row.samples) == (1e-3, 2)
    assert (row.launch_s, row.clock_mhz, row.throttled_samples) == (2e-5, 1965, 1)


def test_where_nothing_is_told_apart_nothing_is_known() -> None:
    row = row_of(TimedRound({CASE.id: 1e-3}, 0.0))
    assert (row.launch_s, row.clock_mhz, row.throttled_samples) == (None, None, None)


def test_without_any_sample_that_counts_the_row_says_why_it_has_no_time() -> None:
    row = row_of(slowed_down(1200), slowed_down(1100))
    assert (row.status, row.time_s, row.throttled_samples) == (Status.PASSED, None, 2)
    assert row.reason == "no time: the device was slowed down in all 2 samples (power cap)"


def test_what_repeats_a_failure_is_read_by_a_shell_as_it_was_meant() -> None:
    rows = RowMaker(experiment="tiny", run="r", source=("my $(touch x);.toml",), command="check")
    row = rows.failure(CaseRecord(CASE), Status.CRASHED, "run", "SIGSEGV")
    assert row.rerun == f"harness check 'my $(touch x);.toml' --only case={CASE.id}"


def test_a_reason_is_cut_and_printable() -> None:
    row = ROWS.failure(CaseRecord(CASE), Status.CRASHED, "run", "\x1b[31m" + "x" * 10_000_000)
    assert str(row.reason).startswith("\\x1b[31mxxx")
    assert str(row.reason).endswith("more characters)")
    assert len(str(row.reason)) < 1100
