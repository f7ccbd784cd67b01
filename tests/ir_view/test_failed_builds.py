"""`harness ir` of builds that fail: what the stages before have left."""

import pytest

from harness.__main__ import main

pytestmark = pytest.mark.usefixtures("example_plugin")

SIZES = ("--seq", "32", "--head-dim", "8", "--set", "tile_q=16", "--set", "tile_kv=16")
BROKEN = ("ir", "flash-with-broken-step", "--target", "cpu:avx2", *SIZES)
CRASHING = ("ir", "abort-in-stage", "--target", "numpy", "--seq", "16", "--head-dim", "8")
WHY = 'crashed: in step "broken": ValueError: no such loop'


def failure(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[str, str]:
    """Run a command that must end with exit status 1; return its output and its one line of error."""
    assert main(list(arguments)) == 1
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    return captured.out, captured.err.removeprefix("harness: ").strip()


def cells(text: str, stage: str) -> list[str]:
    """Return the cells of a stage's row in the first table."""
    rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in text.splitlines()]
    return next(row for row in rows if stage in row[:2])


def test_the_stages_that_were_reached_are_listed_before_the_failure(
    capsys: pytest.CaptureFixture[str],
) -> None:
    out, line = failure(capsys, *BROKEN)
    assert "the build failed after these stages" in out.splitlines()[0]
    assert cells(out, "payload")[:2] == ["1", "payload"]
    assert float(cells(out, "tiled")[2]) > 0
    assert "broken" not in out.partition("\n")[2]
    assert line.endswith(WHY)


def test_one_of_them_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    out, line = failure(capsys, *BROKEN, "--stage", "payload")
    assert "func.func @attention(" in out
    assert line.endswith(WHY)


def test_one_of_them_is_counted_and_compared(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = failure(capsys, *BROKEN, "--stage", "tiled", "--counts", "--diff")
    assert out.startswith("# operations: ")
    assert cells(out, "tiled")[1] == f"{2 * 32 * 32 * 2 * 16:,}"


def test_one_that_was_not_reached_says_what_failed(capsys: pytest.CaptureFixture[str]) -> None:
    out, line = failure(capsys, *BROKEN, "--stage", "object")
    assert out == ""
    assert line.startswith("--stage object was not reached, the last one was tiled: building ")
    assert line.endswith(WHY)


def test_what_is_there_before_a_crash_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    out, line = failure(capsys, *CRASHING)
    assert cells(out, "begun")[:2] == ["1", "begun"]
    assert line.endswith("crashed: SIGABRT")
    out, line = failure(capsys, *CRASHING, "--stage", "begun")
    assert out == "module {}\n"
    _, line = failure(capsys, *CRASHING, "--stage", "ended")
    assert line.startswith("--stage ended was not reached, the last one was begun: ")


def test_a_build_without_stages_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    out, line = failure(capsys, "ir", "build-error", "--target", "numpy")
    assert (out, line) == ("", "error: 'linalg.generic' op expected 3 operands")
