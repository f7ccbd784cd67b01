"""Bundles: built on one machine, checked and timed on another."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from caches import empty_cache
from example_cases import example_case

import harness
from harness.artifact.artifact import Artifact, Loader
from harness.building.case_build import BuildRequest
from harness.errors import InputError
from harness.results.run_folder import RunFolder, run_paths
from harness.running.bundle import (
    BUNDLE_FILE,
    BundledBuilds,
    digest_of,
    not_from_here,
    open_bundle,
    requirements,
)
from harness.status import Status
from harness.storage.digests import write_digests
from harness.workers.process import WorkerFailure

TESTS = Path(__file__).parents[1]

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
keep_outputs = true

[timing]
interval = 0.9
min_sample_s = 0.001
min_rounds = 6
max_rounds = 6
starts = 2

[figures.matrix]
"""

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
    digest = open_bundle(folder / "bundle").digest
    assert done.stdout.splitlines() == [
        "4 of 6 cases built",
        "bundle: bundle",
        f"digest: {digest}",
        "next, on the other machine, as bundle/README.md says: "
        f"harness run --bundle ./bundle --expect {digest}",
    ]
    return folder


def test_a_bundle_is_checked_on_a_machine_without_compilers(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(WITHOUT_COMPILERS)
    arguments = ["check", "--bundle", "bundle", "--plain", "--out", str(tmp_path), "--only", "causal=true"]
    done = command(arguments, folder, PYTHONPATH=str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    rows = harness.load(tmp_path / "bundled").set_index(["variant", "causal"])
    assert set(rows.loc[["unfused", "flash"], "status"]) == {"emulated"}
    assert set(rows.loc[["varlen"], "status"]) == {"unsupported"}
    assert rows.loc[("varlen", True), "reason"].startswith("varlen is about packed sequences")
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
    plugin = bundle.parent / "stub_machine-1.dist-info"  # a loader comes from an installed package
    plugin.mkdir()
    (plugin / "METADATA").write_text("Metadata-Version: 2.1\nName: stub-machine\nVersion: 1\n")
    (plugin / "entry_points.txt").write_text("[harness.targets]\nstub-machine = stub_machine:load\n")


def with_stub(tmp_path: Path) -> str:
    """Return the folders to import from, for the stub."""
    return os.pathsep.join([str(TESTS), str(tmp_path)])


def test_a_device_times_what_a_bundle_brings(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("cuda.bindings", reason="install attention-harness[device]")
    bundle = tmp_path / "bundle"
    for_stub(folder / "bundle", bundle)
    done = command(
        ["run", "--bundle", str(bundle), "--plain", "--out", str(tmp_path), "--only", "causal=true"],
        tmp_path,
        PYTHONPATH=with_stub(tmp_path),
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
    emulated = tmp_path / "emulated"
    arguments = ["check", "--bundle", "bundle", "--plain", "--out", str(emulated), "--only", "causal=true"]
    assert command(arguments, folder).returncode == 0
    compared = command(["compare", str(emulated / "bundled"), str(tmp_path / "bundled")], tmp_path)
    assert compared.returncode == 0, compared.stdout + compared.stderr
    assert "outputs that both runs keep (2): 2 the same bit by bit, 0 not" in compared.stdout


@pytest.mark.sweep
def test_a_kernel_that_the_device_refuses_is_a_row_and_the_others_go_on(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("cuda.bindings", reason="install attention-harness[device]")
    bundle = tmp_path / "bundle"
    for_stub(folder / "bundle", bundle)
    for file in bundle.glob("artifacts/*/artifact.json"):
        described = json.loads(file.read_text())
        if described["case"]["variant"] == "flash":
            described["launch"]["kernels"][0]["threads"] = 4096  # more than a workgroup may have
            file.write_text(json.dumps(described))
    sign_again(bundle)
    done = command(
        ["check", "--bundle", str(bundle), "--plain", "--out", str(tmp_path), "--only", "causal=true"],
        tmp_path,
        PYTHONPATH=with_stub(tmp_path),
    )
    assert done.returncode == 1, done.stdout + done.stderr
    rows = harness.load(tmp_path / "bundled").set_index("variant")
    assert set(rows.loc[["flash"], "status"]) == {"crashed"}
    assert set(rows.loc[["flash"], "phase"]) == {"run"}
    reasons = list(rows.loc[["flash"], "reason"])
    assert all("a workgroup has 1 to 1024 threads" in reason for reason in reasons), "the driver's words"
    assert set(rows.loc[["unfused"], "status"]) == {"passed"}


def artifact(executor: str, loader: str, *loaders: Loader) -> Artifact:
    return Artifact(case=example_case(), key="k", executor=executor, loader=loader, loaders=loaders)


def on_device(install: str) -> Loader:
    return Loader(executor="device", function="f", install=install)


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
        (artifact("native", "harness.variants.baselines.iree.calls:load"), "iree-base-runtime"),
        (
            artifact(
                "none", "", Loader(executor="device", function="f", install="attention-harness[baselines]")
            ),
            "torch",
        ),
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


def test_files_that_are_missing_or_have_changed_are_a_row(folder: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "bundle"
    shutil.copytree(folder / "bundle", bundle)
    first, second, *_ = sorted((bundle / "artifacts").iterdir())
    shutil.rmtree(first)
    (second / "kernels.ptx").write_text("changed")
    done = command(["check", "--bundle", str(bundle), "--plain", "--out", str(tmp_path)], folder)
    assert done.returncode == 1
    rows = harness.load(tmp_path / "bundled")
    failed = rows[rows["status"] == "build-failed"]
    assert len(failed) == 2
    assert failed["reason"].str.endswith("files are missing or have changed: copy the bundle again").all()
    assert (rows["status"] == "emulated").sum() == 2


def test_a_bundle_of_other_code_says_so(folder: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "bundle"
    shutil.copytree(folder / "bundle", bundle)
    assert open_bundle(bundle).other_code == []
    file = bundle / BUNDLE_FILE
    index = json.loads(file.read_text())
    index["manifest"]["code_digest"] = "another"
    file.write_text(json.dumps(index))
    (told,) = open_bundle(bundle).other_code
    assert "was built by other code than runs it" in told


def test_a_bundle_of_other_code_of_a_plugin_says_so(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = tmp_path / "bundle"
    shutil.copytree(folder / "bundle", bundle)
    file = bundle / BUNDLE_FILE
    index = json.loads(file.read_text())
    index["manifest"]["plugin_code"] = {"a_plugin": "as it was", "another": "as it is", "not_here": "lost"}
    file.write_text(json.dumps(index))
    here = {"a_plugin": "as it is", "another": "as it is"}
    monkeypatch.setattr("harness.running.bundle.plugin_code", lambda cases: here)
    assert open_bundle(bundle).other_code == [f"{bundle} was built by other code of a_plugin than is here"]


def test_a_bundle_of_the_version_before_is_refused_in_one_line(folder: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "bundle"
    shutil.copytree(folder / "bundle", bundle)
    file = bundle / BUNDLE_FILE
    file.write_text(file.read_text().replace('"format_version": 2', '"format_version": 1', 1))
    done = command(["check", "--bundle", "bundle"], tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    line = "bundle/bundle.json: bundle format 1, this harness reads 2: build it anew"
    assert " ".join(done.stderr.split()).endswith(line)


def test_what_is_no_bundle_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"expected a folder with a bundle\.json"):
        open_bundle(tmp_path)
    (tmp_path / BUNDLE_FILE).write_text('{"format_version": 7}')
    with pytest.raises(InputError, match="bundle format 7, this harness reads 2: build it anew"):
        open_bundle(tmp_path)
    (tmp_path / BUNDLE_FILE).write_text('{"format_version": 2}')
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
        (["build", "bundled.toml", "--bundle", "/proc/bundle"], "--bundle /proc/bundle: "),
        (["run", "--bundle", "nowhere"], "--bundle: nowhere: expected a folder with a bundle.json"),
        (["run", "--bundle", "bundle", "--only", "variant=naive"], "variant"),
        (["run", "--bundle", "bundle", "--expect", "0123"], "--expect: found a bundle of digest"),
        (["run", "bundled.toml", "--expect", "0123"], "--expect: found no --bundle"),
    ],
)
def test_mistakes_are_one_line_and_exit_status_2(folder: Path, arguments: list[str], message: str) -> None:
    done = command(arguments, folder)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_bundle_is_known_by_its_digest(folder: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "bundle"
    shutil.copytree(folder / "bundle", bundle)
    digest = open_bundle(bundle).digest
    open_bundle(bundle).require_digest(digest.upper())
    index = json.loads((bundle / BUNDLE_FILE).read_text())
    index["manifest"] |= {"started": "2026-01-02T03:04:05+00:00", "finished": None}
    (bundle / BUNDLE_FILE).write_text(json.dumps(index))
    assert open_bundle(bundle).digest == digest
    index["manifest"]["question"] = "another"
    (bundle / BUNDLE_FILE).write_text(json.dumps(index))
    assert open_bundle(bundle).digest != digest
    (bundle / "requirements.txt").write_text("a-package-of-somebody-else")
    with pytest.raises(InputError, match=f"expected {digest}"):
        open_bundle(bundle).require_digest(digest)


@pytest.mark.sweep
def test_building_again_makes_a_bundle_of_the_same_digest(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "bundled.toml").write_text(EXPERIMENT)
    arguments = ["build", "bundled.toml", "--bundle", "bundle", "--plain"]
    done = command(arguments, tmp_path, HARNESS_CACHE_DIR=str(folder / "cache"))
    assert done.returncode == 0, done.stderr
    assert open_bundle(tmp_path / "bundle").digest == open_bundle(folder / "bundle").digest


@pytest.mark.parametrize("key", ["../../x", "/etc", "", "a/b", ".", "a\nb"])
def test_a_key_that_leads_out_of_the_bundle_is_refused(folder: Path, tmp_path: Path, key: str) -> None:
    bundle = tmp_path / "bundle"
    shutil.copytree(folder / "bundle", bundle)
    index = json.loads((bundle / BUNDLE_FILE).read_text())
    index["cases"][0]["key"] = key
    (bundle / BUNDLE_FILE).write_text(json.dumps(index))
    with pytest.raises(InputError, match=r"not a bundle: cases\.0\.key"):
        open_bundle(bundle)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"loader": "evil:load"}, "loader 'evil:load' belongs to no package of this installation"),
        ({"loader": "os:system"}, "belongs to no package"),
        ({"loader": "harness.api:build"}, "belongs to no package"),
        ({"loaders": (Loader(executor="native", function="evil:load"),)}, "belongs to no package"),
        ({"stage_files": {"ptx": "../../secret"}}, "file '../../secret' lies outside the bundle"),
        ({"launch": {"images": [{"file": "/etc/passwd"}]}}, "file '/etc/passwd' lies outside the bundle"),
        ({"loader": "harness.targets.cpu.executable:load", "launch": {"name": "kernel"}}, None),
        ({"loader": "", "executor": "none"}, None),
    ],
)
def test_a_bundle_s_artifact_calls_and_reads_only_what_it_may(
    changes: dict[str, object], reason: str | None
) -> None:
    found = not_from_here(artifact("native", "harness.x:load").model_copy(update=changes))
    assert (found is None) == (reason is None)
    assert reason is None or reason in str(found)


def test_an_artifact_of_another_case_is_a_row(folder: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "bundle"
    shutil.copytree(folder / "bundle", bundle)
    index = json.loads((bundle / BUNDLE_FILE).read_text())
    for entry in index["cases"]:
        entry["case"]["problem"]["seq_q"] += 1
    (bundle / BUNDLE_FILE).write_text(json.dumps(index))
    opened = open_bundle(bundle)
    built = [entry for entry in opened.index.cases if entry.status is Status.BUILT]
    assert len(built) == 4
    for entry in built:
        request = BuildRequest(case=entry.case, key=entry.key, cache_root=tmp_path)
        (outcome,) = BundledBuilds(opened).run([request], lambda case: None)
        assert isinstance(outcome.answer, WorkerFailure)
        assert outcome.answer.status is Status.BUILD_FAILED
        assert re.search(r": holds .*, expected .*: copy the bundle again", outcome.answer.reason)


@pytest.mark.sweep
def test_a_loader_of_the_current_folder_is_a_row_and_never_imported(folder: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "bundle"
    shutil.copytree(folder / "bundle", bundle)
    (tmp_path / "evil.py").write_text(f"open({str(tmp_path / 'imported')!r}, 'w')\ndef load(*given): ...")
    for file in bundle.glob("artifacts/*/artifact.json"):
        described = json.loads(file.read_text())
        described |= {"loader": "evil:load", "loaders": [], "executor": "native"}
        file.write_text(json.dumps(described))
    sign_again(bundle)
    done = command(["check", "--bundle", str(bundle), "--plain", "--out", str(tmp_path / "out")], tmp_path)
    assert done.returncode == 1
    assert "belongs to no package of this installation" in done.stderr
    assert not (tmp_path / "imported").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"format_version": 2, "x": "\xff"}', r"bundle\.json: not a bundle: not UTF-8 text \(byte 28\)"),
        (b'{"format_version": ' + b"9" * 5000 + b"}", r"bundle format 9{20}… \(4980 more characters\), this"),
        (b"[]", r"bundle\.json: not a bundle: the file: "),
    ],
)
def test_a_damaged_index_is_one_line(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / BUNDLE_FILE).write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        open_bundle(tmp_path)
    assert len(caught.value.lines) == 1
    assert len(str(caught.value)) < 500


def test_a_pipe_for_an_index_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / BUNDLE_FILE)
    with pytest.raises(InputError, match=r"--bundle: .*bundle\.json: is no regular file"):
        open_bundle(tmp_path)


def test_a_run_that_a_bundle_goes_on_with_tells_where_the_bundle_was_built(folder: Path) -> None:
    local = ["check", "bundled.toml", "--out", "mixed", "--plain"]
    assert command(local, folder).returncode == 0
    assert command(["check", "--bundle", "bundle", "--out", "mixed", "--resume"], folder).returncode == 0
    (run,) = run_paths(folder / "mixed" / "bundled")
    manifest = RunFolder.open(run).manifest
    (part,) = manifest.parts
    assert manifest.built is None
    of_bundle = open_bundle(folder / "bundle").index.manifest
    assert part.built is not None
    for name in ("started", "command", "code_digest", "machine", "packages"):
        assert getattr(part.built, name) == getattr(of_bundle, name)
