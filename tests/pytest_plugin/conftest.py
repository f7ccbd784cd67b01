"""What the tests of the pytest plugin share."""

from pathlib import Path

import pytest
from sessions import TINY


@pytest.fixture
def folder(example_plugin: Path, tmp_path: Path) -> Path:
    """A folder with the experiment, and a test beside it that is none of its cases."""
    (tmp_path / "tiny.toml").write_text(TINY)
    (tmp_path / "test_beside.py").write_text("def test_beside():\n    assert True\n")
    return tmp_path
