"""The pytest plugin where tests change the folder, or a disk is full."""

import re
from pathlib import Path

import pytest
from sessions import CHOSEN, Session
from sweeps import sweep

CHANGES_FOLDER = "import os\n\ndef test_beside(tmp_path):\n    os.chdir(tmp_path)\n"


@pytest.mark.parametrize("arguments", sweep([[], ["-n", "1"]], but=[["-n", "1"]]))
def test_a_test_that_changes_to_another_folder_moves_no_results(folder: Path, arguments: list[str]) -> None:
    """Results, their rounds, the summary and the cache are where the session began."""
    (folder / "test_beside.py").write_text(CHANGES_FOLDER)
    named = ["--harness-summary", "summary.md", "test_beside.py", "tiny.toml", "-p", "no:randomly"]
    session = Session(folder, *CHOSEN, *arguments, *named, HARNESS_CACHE_DIR="own-cache")
    assert session.status == 0, session.text
    assert len(session.run.results()) == 2, session.text
    assert (session.run.path / "results.parquet").is_file()
    assert (folder / "summary.md").read_text().startswith("## tiny: 0 of 2 cases failed\n")
    assert f"results: {session.run.path.relative_to(folder)}" in session.text
    assert any((folder / "own-cache").glob("*/artifact.json"))


@pytest.mark.parametrize("arguments", sweep([[], ["-n", "2"]], but=[["-n", "2"]]))
def test_a_cache_that_cannot_be_written_ends_a_session_with_the_reason(
    folder: Path, arguments: list[str]
) -> None:
    """Whoever runs pytest has no option `--resume`."""
    (folder / "file").touch()
    session = Session(folder, *CHOSEN, *arguments, HARNESS_CACHE_DIR=str(folder / "file" / "cache"))
    assert session.status == 2, session.text
    (line,) = {line for line in session.text.splitlines() if "cache: found a file at" in line}
    assert line.strip("! ").startswith("_pytest.outcomes.Exit: harness: ")
    assert line.strip("! ").endswith("to a folder that can be written and has room")
    assert "--resume" not in session.text


@pytest.mark.parametrize("arguments", [[], ["-n", "2"]])
def test_results_that_cannot_be_written_end_a_session_with_the_reason(
    folder: Path, arguments: list[str]
) -> None:
    (folder / "results").mkdir()
    (folder / "results" / "tiny").touch()
    session = Session(folder, *CHOSEN, *arguments)
    assert session.status == 2, session.text
    assert "INTERNALERROR" not in session.text
    said = {
        line.strip("! ") for line in session.text.splitlines() if "cannot create the run's folder" in line
    }
    assert said
    assert all(
        re.match(rf"(_pytest\.outcomes\.)?Exit: harness: {folder}/results/tiny/", line) for line in said
    )
