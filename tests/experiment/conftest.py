"""Experiments of plugins that need no compiler, and the file that a test writes one into."""

from pathlib import Path

import pytest
from example_plugins import use_example_plugins


@pytest.fixture
def examples(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plugins are those of `example_plugins.py`."""
    use_example_plugins(monkeypatch)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "trial.toml"
