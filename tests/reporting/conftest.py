"""Fixtures shared by the tests of reporting."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from synthetic_results import sweep_results

from harness.provenance import Manifest, collect
from harness.reporting.frames import prepare
from harness.results import Result, results_frame
from harness.run_folder import RunFolder

VARIANTS = ("unfused", "naive", "flash", "iree", "iree-unfused", "torch", "torch-unfused")

WriteRun = Callable[..., Path]


@pytest.fixture(scope="session")
def sweep() -> pd.DataFrame:
    """The realistic sweep, prepared in an experiment's order of variants."""
    return prepare(results_frame(sweep_results()), VARIANTS)


@pytest.fixture
def write_run(tmp_path: Path) -> WriteRun:
    """Return a function that writes results into a run's folder and returns the folder."""

    def write(results: list[Result], source: str = "", name: str = "seq_sweep") -> Path:
        run = RunFolder.create(tmp_path / "results", name, example_manifest(source, name))
        for result in results:
            run.append_result(result.model_copy(update={"experiment": name, "run": run.run}))
        return run.path

    return write


def example_manifest(source: str, name: str) -> Manifest:
    """A manifest with everything fixed that a report prints."""
    manifest = collect(name, "How fast?", source, ["harness", "run", f"{name}.toml"])
    return manifest.model_copy(
        update={
            "started": "2026-01-02T03:04:05+00:00",
            "harness_version": "0.1.0",
            "git_commit": "0123456789abcdef",
            "git_dirty": False,
            "device": "Example CPU",
        }
    )
