"""An empty path, as of a variable that is not set, is a mistake and not the current folder."""

from pathlib import Path

import pytest

from harness.__main__ import main


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (["check", "smoke", "--out", ""], "--out"),
        (["report", ""], "DIR..."),
        (["compare", "old", "new", "--markdown", ""], "--markdown"),
    ],
)
def test_an_empty_path_is_one_line_and_writes_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    option: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"Invalid value for '{option}': found an empty path, expected one" in line
    assert list(tmp_path.iterdir()) == []
