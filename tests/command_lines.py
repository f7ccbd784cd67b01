"""The command line, called in this process."""

import pytest

from harness.__main__ import main


def error_line(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Run a command that must end with exit status 2 and one line on standard error; return the line."""
    assert main(list(arguments)) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("harness: ")
    return captured.err.removeprefix("harness: ").strip()
