"""An empty path, as of a variable that is not set, is a mistake and not the current folder."""

from pathlib import Path

import pytest

from harness.__main__ import main


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (["check", "smoke", "--out", ""], "--out"),
        (["check", "smoke", "--junit", ""], "--junit"),
        (["check", "--bundle", ""], "--bundle"),
        (["run", "smoke", "--dump", ""], "--dump"),
        (["build", "smoke", "--bundle", ""], "--bundle"),
        (["report", "run", "--out", ""], "--out"),
        (["report", ""], "DIR..."),
        (["compare", "", "run"], "OLD NEW"),
        (["compare", "old", "new", "--json", ""], "--json"),
        (["compare", "old", "new", "--markdown", ""], "--markdown"),
        (["archive", "run", "--out", ""], "--out"),
        (["support", "--check", "--out", ""], "--out"),
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
