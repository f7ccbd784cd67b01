"""Fixtures shared by the tests of reporting."""

from pathlib import Path

import pandas as pd
import pytest
from synthetic_results import WriteRun, example_manifest, sweep_results

from harness.reporting.frames import prepare
from harness.results.frame import results_frame
from harness.results.result import Result
from harness.results.run_folder import RunFolder

VARIANTS = ("unfused", "naive", "flash", "iree", "iree-unfused", "torch", "torch-unfused")


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
