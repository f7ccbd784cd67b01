"""The pytest plugin where tests change the folder, or a disk is full."""

from pathlib import Path

import pytest
from sessions import CHOSEN, Session

CHANGES_FOLDER = "import os\n\ndef test_beside(tmp_path):\n    os.chdir(tmp_path)\n"


@pytest.mark.parametrize("arguments", [[], ["-n", "1"]])
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
