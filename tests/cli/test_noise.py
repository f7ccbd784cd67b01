"""`harness doctor --noise`: what this machine can resolve."""

import re
from pathlib import Path

import pytest

from harness.__main__ import main
from harness.bench.running import machine_noise
from harness.bench.running.progress import make_observer
from harness.system.errors import InputError
from harness.system.storage.folder_store import BUILDING


def test_copies_are_timed_for_as_long_as_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(machine_noise, "COPIES", 1)
    experiment = machine_noise._experiment(0.5)
    timing = experiment.timing.model_copy(update={"starts": 2})
    monkeypatch.setattr(
        machine_noise, "_experiment", lambda _: experiment.model_copy(update={"timing": timing})
    )
    monkeypatch.setattr("harness.cli.noise.LEAST_SECONDS", 0.5)
    assert main(["doctor", "--noise", "--seconds", "0.5", "--plain"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(re.findall(r"[\d.]+ \[[\d.]+, [\d.]+\]", lines[-2])) == 1
    assert re.match(r"smallest difference worth claiming: [\d.]+%, of one thread on the CPU", lines[-1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--seconds", "5"], "--seconds: found no --noise"),
        (["--noise", "--seconds", "0.1"], "--seconds: found 0.1, expected 5 to 3600"),
    ],
)
def test_bad_options_are_one_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(["doctor", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_what_is_written_meanwhile_lies_where_the_next_build_removes_what_is_left(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def killed(*arguments: object, out: Path, **others: object) -> None:
        raise InputError(str(out))

    monkeypatch.setenv("HARNESS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(machine_noise, "run_experiment", killed)
    with pytest.raises(InputError) as raised:
        machine_noise.measure_noise(5.0, make_observer(plain=True))
    assert Path(str(raised.value)).parent == tmp_path / "cache" / BUILDING
