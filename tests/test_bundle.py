"""Bundles: built on one machine, checked and timed on another."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import harness
from harness.bundle import BUNDLE_FILE, open_bundle, requirements
from harness.errors import InputError

DEVICE_TESTS = Path(__file__).parent / "targets" / "cuda" / "device"

EXPERIMENT = """
name = "bundled"
question = "Does code that was built elsewhere run here?"
variants = ["unfused", "flash", "varlen"]
targets = ["cuda:sm_80"]
baseline = "unfused"

[problem]
heads = 1
head_dim = 32
seq = 64
dtype = "f16"
causal = [false, true]

[check]
distributions = ["normal"]

[timing]
interval = 0.9
min_sample_s = 0.001
min_rounds = 6
max_rounds = 6
"""

WITHOUT_COMPILERS = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("mlir", "iree", "torch"):
            raise ModuleNotFoundError(f"{name} is not installed on this machine")

sys.meta_path.insert(0, Blocked())
"""


def command(arguments: list[str], folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "harness", *arguments],
        cwd=folder,
        env={**os.environ, "HARNESS_CACHE_DIR": str(folder / "cache"), **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a bundle in it."""
    folder = tmp_path_factory.mktemp("bundled")
    (folder / "bundled.toml").write_text(EXPERIMENT)
    done = command(["build", "bundled.toml", "--bundle", "bundle", "--plain"], folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines() == ["4 of 6 cases built", "bundle: bundle"]
    return folder


def test_a_bundle_is_checked_on_a_machine_without_compilers(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(WITHOUT_COMPILERS)
    done = command(
        ["check", "--bundle", "bundle", "--plain", "--out", str(tmp_path)], folder, PYTHONPATH=str(tmp_path)
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rows = harness.load(tmp_path / "bundled").set_index(["variant", "causal"])
    assert set(rows.loc[["unfused", "flash"], "status"]) == {"emulated"}
    assert set(rows.loc[["varlen"], "status"]) == {"unsupported"}
    assert rows.loc[("varlen", True), "reason"].startswith("varlen is about packed sequences")


def test_a_device_times_what_a_bundle_brings(folder: Path, tmp_path: Path) -> None:
    """The device is the emulator's stub of the driver: the calls are those that a real one gets."""
    pytest.importorskip("cuda.bindings", reason="install attention-harness[device]")
    bundle = tmp_path / "bundle"
    subprocess.run(["cp", "-r", str(folder / "bundle"), str(bundle)], check=True)
    for file in bundle.glob("artifacts/*/artifact.json"):
        artifact = json.loads(file.read_text())
        artifact["loaders"] = [{"executor": "native", "function": "stub_machine:load"}]
        file.write_text(json.dumps(artifact))
    done = command(
        ["run", "--bundle", str(bundle), "--plain", "--out", str(tmp_path), "--only", "causal=true"],
        tmp_path,
        PYTHONPATH=str(DEVICE_TESTS),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rows = harness.load(tmp_path / "bundled").set_index("variant")
    assert rows.loc["flash", "status"] == "passed", rows.loc["flash", "reason"]
    assert rows.loc["flash", "time_s"] > 0
    assert rows.loc["flash", "launch_s"] > 0
    assert rows.loc["flash", "samples"] == 6
    assert rows.loc["flash", "speedup"] > 0
    manifest = json.loads(next(tmp_path.glob("bundled/*/manifest.json")).read_text())
    assert manifest["built"]["source"] == EXPERIMENT


def test_only_what_runs_is_required_on_the_other_machine(folder: Path) -> None:
    names = {line.partition("==")[0] for line in requirements().split()}
    assert {"numpy", "pydantic", "cuda-bindings"} <= names
    assert not [name for name in names if "mlir" in name or "llvm" in name or "iree" in name]
    assert (folder / "bundle" / "requirements.txt").read_text() == requirements()


def test_what_is_no_bundle_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"expected a folder with a bundle\.json"):
        open_bundle(tmp_path)
    (tmp_path / BUNDLE_FILE).write_text('{"format_version": 7}')
    with pytest.raises(InputError, match="bundle format 7, this harness reads 1: build it anew"):
        open_bundle(tmp_path)
    (tmp_path / BUNDLE_FILE).write_text('{"format_version": 1}')
    with pytest.raises(InputError, match="not a bundle: manifest: Field required"):
        open_bundle(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run"], "found neither, expected either an EXPERIMENT or --bundle DIR"),
        (["check", "bundled.toml", "--bundle", "bundle"], "found both, expected either an EXPERIMENT or"),
        (
            ["build", "bundled.toml", "--bundle", "bundle"],
            "bundle exists already; expected a new",
        ),
        (["run", "--bundle", "nowhere"], "--bundle: nowhere: expected a folder with a bundle.json"),
        (["run", "--bundle", "bundle", "--only", "variant=naive"], "variant"),
    ],
)
def test_mistakes_are_one_line_and_exit_status_2(folder: Path, arguments: list[str], message: str) -> None:
    done = command(arguments, folder)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
