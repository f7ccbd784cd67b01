"""Bad input: exit status 2, one line, and nothing has run."""

import os
from pathlib import Path

import pytest
from command_lines import error_line
from recorded_calls import EXPERIMENT, Calls

from harness.__main__ import main

pytestmark = pytest.mark.usefixtures("calls")


@pytest.mark.parametrize("command", ["run", "check"])
def test_in_an_experiment(capsys: pytest.CaptureFixture[str], calls: Calls, command: str) -> None:
    Path("wrong.toml").write_text(EXPERIMENT.replace('"flash"', '"flsh"', 1))
    expected = "wrong.toml: variants: unknown variant 'flsh' (did you mean flash?); expected one of flash, "
    assert error_line(capsys, command, "wrong.toml").startswith(expected)
    assert calls.runs == []


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            ["run", "missing"],
            "missing: no such experiment; expected an experiment in TOML, one of correctness, ",
        ),
        (["run", "experiments"], "experiments: is a folder; expected an experiment in TOML"),
        (
            ["check", "trial", "--out", "file"],
            "--out file: File exists; expected a folder that can be written",
        ),
        (
            ["check", "trial", "--junit", "file/x.xml"],
            "--junit file: File exists; expected a folder that can",
        ),
        (["check", "trial", "--junit", "pipe"], "--junit pipe: is no regular file; expected a file that can"),
        (
            ["report", "results", "--out", "file/x"],
            "--out file/x: Not a directory; expected a folder that can be written",
        ),
        (["run"], "found neither, expected either an EXPERIMENT or --bundle DIR"),
        (
            ["run", "--bundle", "b", "--profile", "cpu"],
            "--profile: found --bundle, too; a bundle has the profile that it was built with",
        ),
        (
            ["list", "figures", "--profile", "cpu"],
            "--profile: found 'cpu', expected none: it is for 'list cases EXPERIMENT'",
        ),
        (["run", "trial", "--fast"], "No such option: --fast (see 'harness run --help')"),
        (["run", "trial", "--jobs", "0"], "Invalid value for '--jobs': "),
        (["list", "variant"], "Invalid value for 'what': 'variant' is not one of 'variants', "),
        (["rn"], "No such command 'rn'. Did you mean 'run'? (see 'harness --help')"),
    ],
)
def test_on_the_command_line(
    capsys: pytest.CaptureFixture[str], calls: Calls, arguments: list[str], expected: str
) -> None:
    Path("file").write_text("")
    os.mkfifo("pipe")
    assert error_line(capsys, *arguments).startswith(expected)
    assert calls.runs == []
    assert calls.reports == []


def test_every_mistake_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    Path("wrong.toml").write_text(EXPERIMENT.replace("64, 128", "0").replace("heads = 4", "heads = 0"))
    assert main(["run", "wrong.toml"]) == 2
    assert sorted(capsys.readouterr().err.splitlines()) == [
        "harness: wrong.toml: problem.heads.0: Input should be greater than 0, found 0",
        "harness: wrong.toml: problem.seq.0: Input should be greater than 0, found 0",
    ]
