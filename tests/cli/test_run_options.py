"""The options that `harness run` and `harness check` share are said once, and both have them."""

from dataclasses import fields

import typer
from typer.testing import CliRunner

from harness.cli.commands import app
from harness.cli.run_options import RunOptions, with_run_options

SHARED = [field.name for field in fields(RunOptions)]


def names(command: str) -> list[str]:
    """Return the parameters of a command in order, without `--help`."""
    group = typer.main.get_command(app)
    return [parameter.name for parameter in group.commands[command].params]


def test_run_and_check_begin_with_the_shared_options() -> None:
    assert names("run")[: len(SHARED)] == SHARED
    assert set(names("run")[len(SHARED) :]) == {"counters"}
    assert names("check")[: len(SHARED)] == SHARED
    assert set(names("check")[len(SHARED) :]) == {"junit", "strict"}


def test_a_command_gets_what_was_given_and_the_defaults_of_the_rest() -> None:
    application, given = typer.Typer(), []

    @application.command()
    @with_run_options
    def probe(options: RunOptions, extra: int = 3) -> None:
        given.append((options, extra))

    done = CliRunner().invoke(application, ["trial", "--jobs", "2", "--only", "seq=64", "--extra", "4"])
    assert done.exit_code == 0, done.output
    assert given == [(RunOptions(experiment="trial", jobs=2, only=["seq=64"]), 4)]
