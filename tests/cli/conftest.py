"""Commands with everything heavy replaced."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from example_plugins import use_example_plugins
from recorded_calls import EXPERIMENT, Calls


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Calls:
    """Work in an empty folder that holds `experiments/trial.toml`, with everything heavy replaced."""
    use_example_plugins(monkeypatch)
    calls = Calls(tmp_path / "results" / "trial" / "1")
    monkeypatch.setitem(
        sys.modules, "harness.bench.running.runner", SimpleNamespace(run_experiment=calls.run_experiment)
    )
    others = {"draw_published": None, "tabulate": None}
    reporting = SimpleNamespace(make_report=calls.make_report, redraw=calls.redraw, **others)
    monkeypatch.setitem(sys.modules, "harness.reporting.report", reporting)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments" / "trial.toml").write_text(EXPERIMENT)
    return calls
