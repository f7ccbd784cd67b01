"""`harness ir` of builds and schedules that fail: what the stages before have left."""

from dataclasses import replace

import pytest

from harness.__main__ import main
from harness.bench.building.case_build import DEFAULT_BUILD_TIMEOUT_S
from harness.ir_view.named_schedules import registry
from harness.variants.schedule import Step

pytestmark = pytest.mark.usefixtures("example_plugin")

SIZES = ("--seq", "32", "--head-dim", "8", "--set", "tile_q=16", "--set", "tile_kv=16")
BROKEN = ("ir", "flash-with-broken-step", "--target", "cpu:avx2", *SIZES)
REFUSED = ("ir", "flash-with-refusing-step", *BROKEN[2:])
CRASHING = ("ir", "abort-in-stage", "--target", "numpy", "--seq", "16", "--head-dim", "8")
WHY = 'crashed: in step "broken": ValueError: no such loop'


def failure(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 1) -> tuple[str, str]:
    """Run a command that must end with this exit status; return its output and its one line of error."""
    assert main(list(arguments)) == status
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
    assert "it failed after these stages" in out.splitlines()[0]
    assert cells(out, "payload")[:2] == ["1", "payload"]
    assert float(cells(out, "tiled")[2]) > 0
    assert "broken" not in out.partition("\n")[2]
    assert line.endswith(WHY)
    assert failure(capsys, *BROKEN, "--stage", "object") == ("", line)


def test_one_of_them_is_counted_and_compared(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = failure(capsys, *BROKEN, "--stage", "tiled", "--counts", "--diff")
    assert out.startswith("# operations: ")
    assert cells(out, "tiled")[1] == f"{2 * 32 * 32 * 2 * 16:,}"


def test_a_refusal_shows_the_stages_before_it_and_is_no_failure(capsys: pytest.CaptureFixture[str]) -> None:
    out, line = failure(capsys, *REFUSED, status=2)
    assert cells(out, "tiled")[1] == "tiled"
    assert 'in step "refusing": no tile of 16 rows' in line


def test_a_schedule_shows_the_stages_before_the_step_that_failed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(module: object) -> None:
        raise ValueError("no such loop")

    schedule = registry.SCHEDULES["flash-kv-outer"]
    own = schedule.steps()
    steps = (*own[:2], Step("broken", "", refuse), *own[2:])
    monkeypatch.setitem(
        registry.SCHEDULES, "flash-kv-outer", replace(schedule, steps_of=lambda **tiles: steps)
    )
    out, line = failure(capsys, "ir", "flash-kv-outer")
    assert [cells(out, name)[0] for name in ("payload", steps[0].name, steps[1].name)] == ["1", "2", "3"]
    assert line == 'schedule flash-kv-outer: in step "broken": ValueError: no such loop'
    out, _ = failure(capsys, "ir", "flash-kv-outer", "--stage", "payload")
    assert "func.func" in out


def test_what_is_there_before_a_crash_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    out, line = failure(capsys, *CRASHING)
    assert cells(out, "begun")[:2] == ["1", "begun"]
    assert line.endswith("crashed: SIGABRT")
    out, line = failure(capsys, *CRASHING, "--stage", "begun")
    assert out == "module {}\n"


def test_a_build_without_stages_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    out, line = failure(capsys, "ir", "build-error", "--target", "numpy")
    assert (out, line) == ("", "error: 'linalg.generic' op expected 3 operands")


def test_how_long_a_build_may_take_can_be_set(capsys: pytest.CaptureFixture[str]) -> None:
    _, line = failure(capsys, "ir", "hang-build", "--target", "numpy", "--seq", "16", "--timeout", "1")
    assert line.endswith("no answer within the limit of 1 s")
    assert main(["ir", "--help"]) == 0
    assert f"[default: {DEFAULT_BUILD_TIMEOUT_S:g}]" in capsys.readouterr().out
