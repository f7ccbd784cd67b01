import io

from rich.console import Console
from synthetic_results import make_result

from harness.reporting.failures import failures_of, print_failure_list
from harness.reporting.frames import prepare
from harness.results.frame import results_frame
from harness.system.status import Status

CRASHED = make_result(
    "flash",
    512,
    status=Status.CRASHED,
    phase="run",
    reason="signal 11",
    rerun="harness run x.toml --only case=9f",
)
UNSUPPORTED = [
    make_result("torch", seq, status=Status.UNSUPPORTED, phase="plan", reason="install it")
    for seq in (256, 512)
]


def failures(*results: object) -> list:
    return failures_of(prepare(results_frame(results)))  # type: ignore[arg-type]


def test_a_failure_says_what_where_why_and_how_to_rerun() -> None:
    (failure,) = failures(CRASHED, make_result())
    assert failure.status == "crashed"
    assert failure.what == "flash · cpu · b1 h16 s512 d64 f32 full threads=1"
    assert failure.where == " in run"
    assert failure.reason == "signal 11"
    assert failure.rerun == "harness run x.toml --only case=9f"


def test_unsupported_cases_of_one_reason_become_one_entry_after_the_failures() -> None:
    first, second = failures(*UNSUPPORTED, CRASHED)
    assert first.status == "crashed"
    assert (second.what, second.reason, second.rerun) == ("torch · cpu · 2 cases", "install it", None)


def test_the_terminal_prints_square_brackets_as_they_are() -> None:
    console = Console(file=io.StringIO(), width=40)
    reason = "needs mma.sync[m16n8k16]"
    print_failure_list(failures(make_result("torch", status=Status.UNSUPPORTED, reason=reason)), console)
    assert isinstance(console.file, io.StringIO)
    assert reason in console.file.getvalue()


def test_failures_of_one_reason_are_one_entry_with_their_number_and_a_command_that_repeats_the_first() -> (
    None
):
    shared = {"status": Status.CRASHED, "phase": "build"}
    rows = [
        make_result(
            variant,
            seq,
            target=target,
            reason=f"{reason} at 0x{seq:x} (log: logs/{seq}.log)",
            rerun=f"rerun {seq}",
            **shared,
        )
        for variant, seq, target, reason in (
            ("flash", 1, "cpu", "signal 11"),
            ("flash", 2, "cpu", "signal 11"),
            ("flash", 3, "cuda", "signal 11"),
            ("flash", 4, "cpu", "signal 6"),
            ("naive", 5, "cpu", "signal 11"),
        )
    ]
    entries = failures(*rows)
    assert [entry.what.split(" · ")[:2] for entry in entries] == [
        ["flash", "cpu, cuda"],
        ["flash", "cpu"],
        ["naive", "cpu"],
    ]
    assert entries[0].what.split(" · ")[2].startswith("3 cases, first b1 h16 s1 ")
    assert [entry.rerun for entry in entries] == ["rerun 1", "rerun 4", "rerun 5"]


def test_of_very_many_failures_the_first_are_listed_and_the_others_counted() -> None:
    rows = [make_result("flash", seq, status=Status.CRASHED, reason=f"signal {seq}") for seq in range(1, 6)]
    *listed, rest = failures_of(prepare(results_frame(rows)), most=3)
    assert [failure.what.split()[6] for failure in listed] == ["s1", "s2", "s3"]
    assert (rest.status, rest.what, rest.reason) == ("crashed", "2 more cases", "results.csv lists them all")
