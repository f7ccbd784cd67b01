"""What runs are called that are looked at together, and of which run each row of a table is."""

import shutil
from pathlib import Path

import pandas
import pytest
from example_results import example_manifest, example_result, load

from harness.results.run_folder import RunFolder
from harness.results.run_identity import names_of_folders


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """A finished run with one row."""
    run = RunFolder.create(tmp_path, "sweep", example_manifest())
    run.append_result(example_result("a", run=run.run))
    run.finish()
    run.release()
    return run


def test_a_run_is_called_what_its_folder_is_and_equal_names_are_told_apart_by_those_above() -> None:
    folders = [Path("/x/node1/sweep/noon"), Path("/x/node2/sweep/noon"), Path("/x/node2/sweep/one")]
    assert names_of_folders(folders) == ["node1/sweep/noon", "node2/sweep/noon", "one"]


def test_the_name_of_a_folder_steers_no_terminal() -> None:
    assert names_of_folders([Path("/x/\x1b[31mred")]) == ["\\x1b[31mred"]


@pytest.mark.parametrize("has_table", [False, True])
def test_rows_of_a_renamed_folder_are_of_the_run_that_it_is_called(
    folder: RunFolder, has_table: bool
) -> None:
    renamed = folder.path.rename(folder.path.parent / "before")
    if not has_table:
        (renamed / "results.parquet").unlink()
    assert load(renamed)["run"].tolist() == ["before"]


def test_rows_of_copies_are_told_apart(folder: RunFolder) -> None:
    copies = [folder.path.parent / name for name in ("before", "after")]
    for copy in copies:
        shutil.copytree(folder.path, copy)
    frame = load(*copies)
    assert frame["run"].tolist() == ["before", "after"]
    pandas.testing.assert_frame_equal(frame.drop(columns="run"), load(*copies).drop(columns="run"))


def test_a_run_that_is_given_by_two_paths_is_loaded_once(folder: RunFolder) -> None:
    assert len(load(folder.path, folder.path.parent)) == 1
