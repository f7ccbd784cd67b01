"""Bundles of code for Intel's GPUs: SPIR-V, which a device, the emulator or Intel's runtime runs."""

from pathlib import Path

import pandas as pd
import pytest
from test_bundle import OF_TWO_VARIANTS, WITHOUT_COMPILERS, command, for_stub, import_path, with_stub

import harness

EXPERIMENT = OF_TWO_VARIANTS.replace("cuda:sm_80", "xegpu:bmg")
FOR_THE_PROCESSOR = '\n[target.xegpu]\nexecutor = "opencl"\n'


def bundled(folder: Path, experiment: str) -> Path:
    """Build a bundle in a folder; returns the folder."""
    (folder / "bundled.toml").write_text(experiment)
    done = command(["build", "bundled.toml", "--bundle", "bundle", "--plain"], folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[0] == "2 of 2 cases built"
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a bundle whose code anything may run."""
    return bundled(tmp_path_factory.mktemp("bundled"), EXPERIMENT)


@pytest.fixture(scope="module")
def for_processor(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a bundle that asks for Intel's runtime."""
    return bundled(tmp_path_factory.mktemp("bundled"), EXPERIMENT + FOR_THE_PROCESSOR)


def checked(folder: Path, tmp_path: Path) -> pd.DataFrame:
    """Check a bundle where there are no compilers."""
    (tmp_path / "sitecustomize.py").write_text(WITHOUT_COMPILERS)
    arguments = ["check", "--bundle", "bundle", "--plain", "--out", str(tmp_path)]
    done = command(arguments, folder, PYTHONPATH=import_path(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    return harness.load(tmp_path / "bundled")


def outcomes(rows: pd.DataFrame) -> list[tuple[str, str]]:
    return list(zip(rows["executor"], rows["status"], strict=True))


@pytest.mark.sweep
def test_the_emulator_checks_it_without_compilers(folder: Path, tmp_path: Path) -> None:
    assert outcomes(checked(folder, tmp_path)) == [("emulator", "emulated")] * 2


@pytest.mark.sweep
@pytest.mark.extra("intel")
def test_intel_s_runtime_checks_it_without_compilers(for_processor: Path, tmp_path: Path) -> None:
    assert outcomes(checked(for_processor, tmp_path)) == [("opencl", "emulated")] * 2


@pytest.mark.sweep
def test_a_device_times_it(folder: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "bundle"
    for_stub(folder / "bundle", bundle, "stub_machine:load_intel")
    arguments = ["run", "--bundle", str(bundle), "--plain", "--out", str(tmp_path)]
    done = command(arguments, tmp_path, PYTHONPATH=with_stub(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    rows = harness.load(tmp_path / "bundled").set_index("variant")
    assert set(rows["status"]) == {"passed"}, list(rows["reason"])
    assert rows.loc["flash", "time_s"] > 0
    assert rows.loc["flash", "launch_s"] > 0
    assert rows.loc["flash", "samples"] == 3
