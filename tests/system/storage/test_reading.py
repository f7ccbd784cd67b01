"""A path that the system refuses is one line."""

from pathlib import Path

import pytest

from harness.system.errors import InputError
from harness.system.storage.reading import exists

TOO_LONG = "x" * 5000


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
