"""The command on a failed case's row repeats it, as it stands there."""

import shlex
from pathlib import Path

import pytest

from harness.__main__ import main
from harness.results.run_folder import RunFolder

TEXT = """
name = "cases"
question = "Does it fail again?"
targets = ["numpy"]
variants = ["numpy-attention", "build-error"]
[problem]
seq = [16, 32]
heads = 2
head_dim = 8
[profiles.small.problem]
seq = 16
"""


def test_the_command_on_a_row_repeats_its_case_beside_the_other_results(
    example_plugin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my cases.toml").write_text(TEXT)
    folder = Path("my results") / "cases"
    assert main(["check", "my cases.toml", "--profile", "small", "--out", "my results", "--plain"]) == 1
    (first,) = folder.iterdir()
    (failed,) = [row for row in RunFolder.open(first).results() if row.status.is_failure]
    assert failed.rerun is not None
    assert main(shlex.split(failed.rerun)[1:]) == 1
    (again,) = set(folder.iterdir()) - {first}
    (row,) = RunFolder.open(again).results()
    assert (row.case, row.status, row.reason) == (failed.case, failed.status, failed.reason)
