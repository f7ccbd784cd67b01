"""Files that are written whole, whatever lies at their path."""

import os
from pathlib import Path

import pytest

from harness.system.storage.replacing import remove_leftovers, replaced, write_text


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    theirs, path = tmp_path / "theirs", tmp_path / "summary.md"
    theirs.write_text("keep")
    path.symlink_to(theirs)
    write_text(path, "new")
    assert (theirs.read_text(), path.read_text(), path.is_symlink()) == ("keep", "new", False)


def test_a_write_that_fails_changes_and_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    write_text(path, "old")

    def write_half() -> None:
        with replaced(path) as file:
            file.write_text("half")
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        write_half()
    assert [entry.read_text() for entry in tmp_path.iterdir()] == ["old"]


def test_a_new_file_has_the_permissions_of_any_other(tmp_path: Path) -> None:
    write_text(tmp_path / "written", "")
    (tmp_path / "touched").touch()
    assert (tmp_path / "written").stat().st_mode == (tmp_path / "touched").stat().st_mode


def test_what_killed_processes_left_goes_once_nobody_can_be_writing_it(tmp_path: Path) -> None:
    left = tmp_path / ".replacing-1234.csv"
    left.touch()
    remove_leftovers(tmp_path, older_than_s=60)
    assert left.exists()
    os.utime(left, (0, 0))
    remove_leftovers(tmp_path, older_than_s=60)
    assert not left.exists()
