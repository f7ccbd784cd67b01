from pathlib import Path

import pytest

from harness.results.output_folder import ensure_writable_folder
from harness.system.errors import InputError


def test_a_missing_folder_is_created_and_stays_empty(tmp_path: Path) -> None:
    folder = ensure_writable_folder(tmp_path / "a" / "b")
    assert list(folder.iterdir()) == []


def test_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(
        InputError, match=r"--out .*/file/x: Not a directory; expected a folder that can be written"
    ):
        ensure_writable_folder(tmp_path / "file" / "x")
