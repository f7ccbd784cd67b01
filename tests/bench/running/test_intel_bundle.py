"""Bundles of code for Intel's GPUs: SPIR-V, which a device, the emulator or Intel's runtime runs."""

from pathlib import Path

import pandas as pd
import pytest
from test_bundle import WITHOUT_COMPILERS, command, for_stub, import_path, with_stub

import harness
from harness.bench.running.bundle import open_bundle
from harness.targets.xegpu.device import SPIRV_FILE

EXPERIMENT = """
name = "bundled"
question = "Does SPIR-V that was built elsewhere run here?"
variants = ["unfused", "flash"]
targets = ["xegpu:bmg"]
baseline = "unfused"

[problem]
heads = 1
head_dim = 32
seq = 64
dtype = "f16"

[check]
distributions = ["normal"]

[timing]
interval = 0.9
min_sample_s = 0.001
min_rounds = 6
max_rounds = 6
starts = 2
"""
FOR_THE_PROCESSOR = '\n[target.xegpu]\nexecutor = "opencl"\n'
SPIRV_MAGIC = 0x07230203


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
def test_a_bundle_carries_spirv(folder: Path) -> None:
    bundle = open_bundle(folder / "bundle")
    for entry in bundle.index.cases:
        assert entry.key is not None
        image = (bundle.artifact_folder(entry.key) / SPIRV_FILE).read_bytes()
        assert int.from_bytes(image[:4], "little") == SPIRV_MAGIC


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
    assert rows.loc["flash", "samples"] == 6
