"""Bundles: built on one machine, checked and timed on another."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from caches import empty_cache
from example_cases import example_case

import harness
from harness.__main__ import main
from harness.artifact.artifact import Artifact, Loader
from harness.bench.row_maker import CaseRecord
from harness.bench.running.bundle import (
    BUNDLE_FILE,
    BundledBuilds,
    digest_of,
    open_bundle,
    requirements,
)
from harness.results.run_folder import RunFolder, run_paths
from harness.system.errors import InputError
from harness.system.storage.digests import write_digests

TESTS = Path(__file__).parents[2]

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
causal = true

[check]
distributions = ["normal"]
keep_outputs = true

[timing]
interval = 0.9
min_sample_s = 0.001
min_rounds = 3
max_rounds = 3
starts = 1

[figures.matrix]
"""

OF_TWO_VARIANTS = EXPERIMENT.replace(', "varlen"', "")

WITHOUT_COMPILERS = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("mlir", "iree", "torch"):
            raise ModuleNotFoundError(f"{name} is not installed on this machine")

sys.meta_path.insert(0, Blocked())
"""


def sign_again(bundle: Path) -> None:
    """Note the files of a bundle as they are now."""
    index = json.loads((bundle / BUNDLE_FILE).read_text())
    for entry in index["cases"]:
        if entry["digest"] is not None:
            write_digests(bundle / "artifacts" / entry["key"])
            entry["digest"] = digest_of(bundle / "artifacts" / entry["key"])
    (bundle / BUNDLE_FILE).write_text(json.dumps(index))


def command(arguments: list[str], folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    cache = folder / "cache"
    if not cache.exists():
        empty_cache(cache)
    return subprocess.run(
        [sys.executable, "-m", "harness", *arguments],
        cwd=folder,
        env={**os.environ, "HARNESS_CACHE_DIR": str(cache), **variables},
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
    assert done.stdout.splitlines() == [
        "2 of 3 cases built",
        "bundle: bundle",
        "next, on the other machine, as bundle/README.md says: harness run --bundle ./bundle",
    ]
    return folder


def test_a_bundle_is_checked_on_a_machine_without_compilers(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(WITHOUT_COMPILERS)
    arguments = ["check", "--bundle", "bundle", "--plain", "--out", str(tmp_path)]
    done = command(arguments, folder, PYTHONPATH=import_path(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    rows = harness.load(tmp_path / "bundled").set_index("variant")
    assert set(rows.loc[["unfused", "flash"], "status"]) == {"emulated"}
    assert rows.loc["varlen", "status"] == "unsupported"
    assert rows.loc["varlen", "reason"].startswith("varlen is about packed sequences")
    manifest = json.loads(next(tmp_path.glob("bundled/*/manifest.json")).read_text())
    assert manifest["named_by"] == ["--bundle", "bundle"]


def for_stub(built: Path, bundle: Path, loader: str = "stub_machine:load") -> None:
    """Copy a bundle so that its code runs on the stub of the driver: the calls are the real ones."""
    shutil.copytree(built, bundle)
    for file in bundle.glob("artifacts/*/artifact.json"):
        described = json.loads(file.read_text())
        described["loaders"] = [{"executor": "native", "function": loader}]
        file.write_text(json.dumps(described))
    sign_again(bundle)


def with_stub(tmp_path: Path) -> str:
    """Return the folders to import from, for the stub."""
    return import_path(TESTS, tmp_path)


def import_path(*folders: Path) -> str:
    """Return folders to import from, before those of this process."""
    return os.pathsep.join([*map(str, folders), os.environ.get("PYTHONPATH", "")])


def test_a_device_times_what_a_bundle_brings(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("cuda.bindings", reason="install attention-harness[device]")
    bundle = tmp_path / "bundle"
    for_stub(folder / "bundle", bundle)
    done = command(
        ["run", "--bundle", str(bundle), "--plain", "--out", str(tmp_path)],
        tmp_path,
        PYTHONPATH=with_stub(tmp_path),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rows = harness.load(tmp_path / "bundled").set_index("variant")
    assert rows.loc["flash", "status"] == "passed", rows.loc["flash", "reason"]
    assert rows.loc["flash", "time_s"] > 0
    assert rows.loc["flash", "launch_s"] > 0
    assert rows.loc["flash", "samples"] == 3
    assert rows.loc["flash", "speedup"] > 0
    manifest = json.loads(next(tmp_path.glob("bundled/*/manifest.json")).read_text())
    assert manifest["built"]["source"] == EXPERIMENT


def artifact(executor: str, loader: str, *loaders: Loader) -> Artifact:
    return Artifact(case=example_case(), key="k", executor=executor, loader=loader, loaders=loaders)


def names(lines: str) -> set[str]:
    return {line.partition("==")[0] for line in lines.split()}


def test_only_what_runs_is_required_on_the_other_machine(folder: Path) -> None:
    written = names((folder / "bundle" / "requirements.txt").read_text())
    assert {"numpy", "pydantic", "cuda-bindings"} <= written
    assert not [name for name in written if "mlir" in name or "llvm" in name or "iree" in name]


@pytest.mark.parametrize(
    ("needing", "package"),
    [
        (artifact("native", "harness.targets.cpu.executable:load"), "llvmlite"),
        (artifact("native", "harness.variants.baselines.torch.calls:load_fused"), "torch"),
        (
            artifact(
                "none", "", Loader(executor="device", function="f", install="attention-harness[device]")
            ),
            "cuda-bindings",
        ),
        (
            artifact("none", "", Loader(executor="device", function="f", install="iree-base-runtime")),
            "iree-base-runtime",
        ),
    ],
)
def test_what_artifacts_need_is_required_too(needing: Artifact, package: str) -> None:
    assert package not in names(requirements([]))
    assert package in names(requirements([needing]))


def test_files_that_are_missing_or_have_changed_fail_their_case(folder: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "bundle"
    shutil.copytree(folder / "bundle", bundle)
    first, second = sorted((bundle / "artifacts").iterdir())
    shutil.rmtree(first)
    (second / "kernels.ptx").write_text("changed")
    builds = BundledBuilds(open_bundle(bundle))
    records = [CaseRecord(entry.case) for entry in open_bundle(bundle).index.cases]
    failures = [failure for _, failure in builds.build(records, lambda case, phase: None)]
    reasons = [failure.reason for failure in failures if failure is not None]
    changed = "files are missing or have changed: copy the bundle again"
    assert sum(changed in reason for reason in reasons) == 2


def test_a_bundle_of_other_code_says_so(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = tmp_path / "bundle"
    shutil.copytree(folder / "bundle", bundle)
    assert open_bundle(bundle).other_code == []
    file = bundle / BUNDLE_FILE
    index = json.loads(file.read_text())
    index["manifest"]["plugin_code"] = {"a_plugin": "as it was", "another": "as it is", "not_here": "lost"}
    file.write_text(json.dumps(index))
    here = {"a_plugin": "as it is", "another": "as it is"}
    monkeypatch.setattr("harness.bench.running.bundle.plugin_code", lambda cases: here)
    told = f"{bundle} was built by other code of a_plugin than runs it"
    assert open_bundle(bundle).other_code == [told]
    index["manifest"]["code_digest"] = "another"
    file.write_text(json.dumps(index))
    assert "harness (" in open_bundle(bundle).other_code[0]


def test_what_is_no_bundle_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"expected a folder with a bundle\.json"):
        open_bundle(tmp_path)
    (tmp_path / BUNDLE_FILE).write_bytes(b"\xff")
    with pytest.raises(InputError, match=r"expected a folder with a bundle\.json"):
        open_bundle(tmp_path)
    (tmp_path / BUNDLE_FILE).write_text('{"format_version": 7}')
    with pytest.raises(InputError, match="not a bundle: format_version: "):
        open_bundle(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["build", "bundled.toml", "--bundle", "bundle"], "bundle exists already; expected a new"),
        (["run", "--bundle", "nowhere"], "--bundle: nowhere: expected a folder with a bundle.json"),
    ],
)
def test_mistakes_are_one_line_and_exit_status_2(
    folder: Path,
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(folder)
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert len(error.splitlines()) == 1


@pytest.mark.parametrize("key", ["../../x", "/etc"])
def test_a_key_that_leads_out_of_the_bundle_is_refused(folder: Path, tmp_path: Path, key: str) -> None:
    bundle = tmp_path / "bundle"
    shutil.copytree(folder / "bundle", bundle)
    index = json.loads((bundle / BUNDLE_FILE).read_text())
    index["cases"][0]["key"] = key
    (bundle / BUNDLE_FILE).write_text(json.dumps(index))
    with pytest.raises(InputError, match=r"not a bundle: cases\.0\.key"):
        open_bundle(bundle)


@pytest.mark.sweep
def test_a_run_that_a_bundle_goes_on_with_tells_where_the_bundle_was_built(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    options = ["--out", "mixed", "--plain", "--only", "variant=varlen"]
    assert main(["check", "bundled.toml", *options]) == 0
    assert main(["check", "--bundle", "bundle", "--resume", *options]) == 0
    (run,) = run_paths(folder / "mixed" / "bundled")
    manifest = RunFolder.open(run).manifest
    (part,) = manifest.parts
    assert manifest.built is None
    of_bundle = open_bundle(folder / "bundle").index.manifest
    assert part.built is not None
    for name in ("started", "command", "code_digest", "machine", "packages"):
        assert getattr(part.built, name) == getattr(of_bundle, name)
