"""Only regular files are opened, and a path that the system refuses is one line."""

import os
from pathlib import Path

import pytest

from harness.system.errors import InputError
from harness.system.storage.lock import holder_of
from harness.system.storage.reading import exists, read_bytes, read_text

TOO_LONG = "x" * 5000


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


def test_what_a_regular_file_holds_is_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes("\ufeffé\r\n".encode())
    assert read_text(tmp_path / "file", "utf-8-sig") == "é\n"
    assert read_bytes(tmp_path / "file") == "\ufeffé\r\n".encode()


def test_a_pipe_is_not_waited_for(pipe: Path) -> None:
    with pytest.raises(OSError, match="is no regular file"):
        read_bytes(pipe)
    assert holder_of(pipe) == ""


@pytest.mark.parametrize("name", ["/dev/zero", "a\0b", TOO_LONG, "missing", "."])
def test_what_cannot_be_read_is_an_error_of_the_system(name: str) -> None:
    with pytest.raises(OSError, match=r".+") as caught:
        read_text(Path(name))
    assert caught.value.strerror


def test_what_is_there_is_told_from_what_is_not(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert exists(tmp_path / "file")
    assert not exists(tmp_path / "missing")
    assert not exists(tmp_path / "file" / "below")


@pytest.mark.parametrize("name", [TOO_LONG, "a\0b"])
def test_a_path_that_the_system_refuses_is_one_short_line(name: str) -> None:
    with pytest.raises(InputError, match=r"File name too long|embedded null byte") as caught:
        exists(Path(name))
    assert len(str(caught.value)) < 300
