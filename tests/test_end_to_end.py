"""The command line from the outside, with the real variants: a user's first steps."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import harness
from harness.__main__ import main

EXPERIMENTS = Path(__file__).parents[1] / "experiments"

SWEEP = """
name = "small"
question = "Do the generated variants build, check and time?"
variants = ["unfused", "flash"]
targets = ["cpu"]
baseline = "unfused"

[problem]
heads = 2
head_dim = 16
seq = 48
causal = true

[timing]
interval = 0.5
min_sample_s = 0.001
min_rounds = 2
max_rounds = 4
budget_s = 1
starts = 1

[figures]
throughput = {}
matrix = {}
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment with an artifact cache of its own."""
    return {**os.environ, "HARNESS_CACHE_DIR": str(tmp_path_factory.mktemp("cache"))}


def command(
    arguments: list[str], folder: Path, environment: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run `harness` in a folder and return what it printed and its exit status."""
    return subprocess.run(
        [sys.executable, "-m", "harness", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory, environment: dict[str, str]) -> Path:
    """The folder in which a small sweep was run."""
    folder = tmp_path_factory.mktemp("sweep")
    (folder / "small.toml").write_text(SWEEP)
    done = command(["run", "small.toml", "--plain"], folder, environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_a_sweep_checks_and_times_every_case(ran: Path) -> None:
    frame = harness.load(ran / "results" / "small")
    assert list(frame["status"].unique()) == ["passed"]
    assert len(frame) == 2
    assert (frame["time_s"] > 0).all()
    assert (frame["error_ratio"] <= 1).all()
    assert set(frame.loc[frame["variant"] == "unfused", "speedup"]) == {1.0}


def test_a_sweep_leaves_a_report(ran: Path) -> None:
    (report,) = (ran / "results" / "small").glob("*/report")
    names = {path.name for path in report.iterdir()}
    assert {"summary.md", "results.csv"} <= names
    for figure in ("throughput", "matrix"):
        assert f"{figure}.svg" in names


def test_resuming_a_complete_run_changes_nothing(
    ran: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = harness.load(ran / "results" / "small")
    monkeypatch.chdir(ran)
    monkeypatch.setenv("HARNESS_CACHE_DIR", environment["HARNESS_CACHE_DIR"])
    assert main(["run", "small.toml", "--plain", "--resume"]) == 0
    after = harness.load(ran / "results" / "small")
    assert after["case"].tolist() == before["case"].tolist()
    assert after["time_s"].tolist() == before["time_s"].tolist()


FILTERS = ("seq_q=77", "seq_kv=77", "dtype=f32", "causal=true", "heads=2", "head_dim=64", "head_dim_v=64")
CHECKED = [*(word for only in FILTERS for word in ("--only", only)), "--plain"]


def test_the_correctness_matrix_fails_for_a_broken_variant(
    tmp_path: Path, environment: dict[str, str], example_site: Path
) -> None:
    broken = (EXPERIMENTS / "correctness.toml").read_text()
    broken = broken.replace('"flash"', '"flash", "flash-without-rescaling"')
    (tmp_path / "correctness.toml").write_text(broken)
    arguments = ["check", "correctness.toml", "--only", "variant=flash,flash-without-rescaling", *CHECKED]
    done = command(arguments, tmp_path, {**environment, "PYTHONPATH": str(example_site)})
    assert done.returncode == 1, done.stdout + done.stderr
    frame = harness.load(tmp_path / "results" / "correctness")
    flash = frame.loc[frame["variant"] == "flash", "status"]
    assert set(flash) == {"passed"}
    # One key tile holds 64 of the 77 keys, so that every problem that flash takes rescales.
    broken_status = frame.loc[frame["variant"] == "flash-without-rescaling", "status"].value_counts()
    assert broken_status["wrong"] == len(flash)
    assert set(broken_status.index) <= {"wrong", "unsupported"}
    assert "rerun: harness check correctness.toml --only case=" in done.stdout
