import io
import re

import pytest
from example_cases import accepted_record, example_case

from harness.bench.measure.rounds import TimedRound
from harness.bench.row_maker import CaseRecord, GroupTimes, RowMaker
from harness.bench.running.progress import LiveObserver, PlainObserver, make_observer, result_line
from harness.problem.case import Case
from harness.results.result import Result
from harness.system.status import Status

CONTROL_SEQUENCES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
ROWS = RowMaker(experiment="tiny", run="r", source=("tiny.toml",), command="run")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def passed(case: Case, baseline: Case) -> Result:
    record = accepted_record(case)
    rounds = [TimedRound(seconds={case.id: 1e-3, baseline.id: 2e-3}, load=0.5)] * 6
    times = GroupTimes(rounds=rounds, busy_limit=0.1, baseline=baseline)
    return ROWS.success(record, Status.PASSED, times)


def test_plain_lines_tell_the_outcome_of_each_case() -> None:
    stream = io.StringIO()
    observer = PlainObserver(stream)
    case, crashing = example_case(), example_case("segfault")
    observer.planned(2)
    observer.started(case, "build")
    observer.slow("build: it goes on")
    observer.round("b1", 1, {case.id: 0.01})
    observer.finished(case, passed(case, crashing))
    observer.finished(crashing, ROWS.failure(CaseRecord(crashing), Status.CRASHED, "run", "SIGSEGV"))
    observer.done()
    assert stream.getvalue().splitlines() == [
        "2 cases",
        "build: it goes on",
        "[1/2] passed         numpy-attention · numpy · b1 h2 s16 d8 f32 full"
        "  error/tolerance 0.25  1.00 ms  0.0164 GFLOP/s  2.00× segfault [2.00, 2.00]  busy machine",
        "[2/2] crashed        segfault · numpy · b1 h2 s16 d8 f32 full  run: SIGSEGV",
        "crashed  segfault · numpy · b1 h2 s16 d8 f32 full",
        "    run: SIGSEGV",
        f"    rerun: harness run tiny.toml --only case={crashing.id}",
    ]


def test_a_long_reason_is_cut_in_the_line_of_its_case() -> None:
    case = example_case("segfault")
    reason = f"error: {'x' * 300}\n  more (log: logs/1.log)"
    line = result_line(case, ROWS.failure(CaseRecord(case), Status.BUILD_FAILED, "build", reason))
    assert "build: error: xxx" in line
    assert ".log" not in line
    assert "\n" not in line
    assert len(line) < 220


@pytest.mark.parametrize(("planned", "told"), [(3, 1), (4, 2)])
def test_a_reason_is_told_once_and_not_before_a_report_unless_the_run_has_not_come_to_it(
    planned: int, told: int
) -> None:
    stream = io.StringIO()
    observer = PlainObserver(stream, has_report=planned == 3)
    cases = [example_case("segfault", block=size) for size in (16, 32, 64)]
    observer.planned(planned)
    for number, case in enumerate(cases):
        reason = f"SIGSEGV (log: logs/{number}.log)"
        observer.finished(case, ROWS.failure(CaseRecord(case), Status.CRASHED, "run", reason))
    observer.done()
    text = stream.getvalue()
    assert text.count("SIGSEGV (log") == text.count("rerun: ") == told - 1
    assert (" and 2 more cases" in text) is (told == 2)


def test_a_terminal_shows_failures_and_counts() -> None:
    stream = Terminal()
    observer = make_observer(stream=stream)
    case = example_case("segfault")
    observer.planned(2)
    observer.finished(case, ROWS.failure(CaseRecord(case), Status.CRASHED, "run", "SIGSEGV [signal 11]"))
    observer.done()
    assert isinstance(observer, LiveObserver)
    assert "run: SIGSEGV [signal 11]" in stream.getvalue()
    assert "1/2" in stream.getvalue()


@pytest.mark.parametrize("width", [50, 110])
def test_a_narrow_terminal_keeps_count_and_remaining_time_and_cuts_the_case(width: int) -> None:
    stream = Terminal()
    observer = LiveObserver(stream, width=width)
    case = example_case()
    observer.planned(1000)
    observer.finished(case, passed(case, case))
    observer.finished(case, ROWS.failure(CaseRecord(case), Status.CRASHED, "run", "SIGSEGV"))
    observer.started(case, "build")
    observer.done()
    last = CONTROL_SEQUENCES.sub("", stream.getvalue().split("\r")[-2]).rstrip("\n")
    assert re.search(r"2/1000 (\d+:\d\d:\d\d|-:--:--) left", last)
    assert "1 passed  1 crashed" in last
    assert "build:" in last or width == 50
    assert len(last) <= width
