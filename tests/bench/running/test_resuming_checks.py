"""Runs that go on after `[check]` has changed: what was checked with other inputs is checked again."""

from pathlib import Path
from typing import Any

import pytest
from example_cases import example_experiment
from test_runner import Quiet, run

pytestmark = pytest.mark.usefixtures("example_plugin")


def kept(out: Path, **check: Any) -> list[str]:
    """Check a case whose inputs `[check]` chooses; return what a resumed run has kept."""
    observer = Quiet()
    experiment = example_experiment(["numpy-attention"], check=check)
    run(experiment, out, observer, resume=True, timed=False)
    return observer.kept_cases


def test_only_what_was_checked_with_the_same_inputs_is_kept(tmp_path: Path) -> None:
    assert kept(tmp_path, distributions=["normal"]) == []
    assert kept(tmp_path, distributions=["normal"], seed=1) == []
    assert kept(tmp_path, distributions=["normal"], seed=1) == ["numpy-attention"]
