"""Bundles for a machine without a network: what they bring, and that they run on such a machine."""

import hashlib
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from importlib.metadata import requires
from pathlib import Path

import pytest
from caches import empty_cache
from test_bundle import OF_TWO_VARIANTS

import harness
from harness.__main__ import main
from harness.bench.running import offline

ROOT = Path(__file__).parents[3]
STUB_MACHINE = ROOT / "tests" / "stub_gpu_machine"
PYTHON = "python{}.{}".format(*sys.version_info[:2])

EXPERIMENT = OF_TWO_VARIANTS.replace("bundled", "offline")


def variables(folder: Path, **more: str) -> dict[str, str]:
    """Return those of a process that finds no package besides those that are installed."""
    return {**os.environ, "HARNESS_CACHE_DIR": str(folder / "cache"), "PIP_NO_INDEX": "1", **more}


def build(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "harness", "build", "offline.toml", "--plain", *arguments],
        cwd=folder,
        env=variables(folder),
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a bundle for a machine that has all packages but this one."""
    folder = tmp_path_factory.mktemp("offline")
    empty_cache(folder / "cache")
    (folder / "offline.toml").write_text(EXPERIMENT)
    names = {re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in requires("attention-harness") or []}
    (folder / "there.txt").write_text("\n".join(sorted(names)))
    done = build(folder, "--bundle", "sweep", "--offline", PYTHON, "--provided", "there.txt")
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.fullmatch(
        "2 of 2 cases built\n"
        "bundle: sweep\n"
        r"packed: sweep\.tar\.xz, \d\.\d MiB, SHA-256 [0-9a-f]{64}" + "\n"
        r"next, on the other machine, as sweep/README\.md says: "
        r"sh \./sweep/run\.sh" + "\n",
        done.stdout,
    )
    return folder


def test_it_brings_this_package_and_none_that_is_there(folder: Path) -> None:
    (wheel,) = (folder / "sweep" / "wheels").iterdir()
    assert wheel.name.startswith("attention_harness-")
    names = set(zipfile.ZipFile(wheel).namelist())
    sources = {str(file.relative_to(ROOT)) for file in (ROOT / "harness").rglob("*.py")}
    assert sources <= names
    assert "harness/bench/running/run_offline.sh" in names
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    assert (folder / "sweep" / "wheels.txt").read_text() == f"{digest}  wheels/{wheel.name}\n"


def test_a_packed_bundle_tells_no_user(folder: Path) -> None:
    with tarfile.open(folder / "sweep.tar.xz") as packed:
        members = packed.getmembers()
    assert {"sweep/run.sh", "sweep/bundle.json", "sweep/wheels.txt"} <= {member.name for member in members}
    assert {(member.uname, member.uid) for member in members} == {("", 0)}
    text = (folder / "sweep" / "README.md").read_text()
    assert re.findall(r"```sh\n(.*?)\n```", text, re.DOTALL) == ["sh ./sweep/run.sh"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--offline", "python3.12"], "--offline: found no --bundle; expected a folder"),
        (
            ["--bundle", "new", "--provided", "there.txt"],
            "--provided: found no --offline; expected the Python",
        ),
        (["--bundle", "new", "--offline", "3.12"], "--offline: found '3.12', expected a Python >=3.11 as in"),
    ],
)
def test_mistakes_are_one_line_before_anything_is_built(
    tmp_path: Path,
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("offline.toml").write_text(EXPERIMENT)
    assert main(["build", "offline.toml", *arguments]) == 2
    told = capsys.readouterr()
    assert message in told.err
    assert len(told.err.splitlines()) == 1
    assert told.out == ""


def test_no_wheel_is_built_of_what_is_no_checkout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("harness.bench.running.offline.CHECKOUT", tmp_path)
    with pytest.raises(
        harness.system.errors.InputError, match=r"holds no pyproject\.toml; expected a checkout"
    ):
        offline.offline_machine("python3.12", None)


@pytest.fixture(scope="module")
def there(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The variables of that machine."""
    pytest.importorskip("cuda.bindings", reason="install attention-harness[device]")
    machine = tmp_path_factory.mktemp("machine")
    empty_cache(machine / "cache")
    made = subprocess.run(
        [sys.executable, STUB_MACHINE / "make.py", machine, "sm_90"],
        check=True,
        capture_output=True,
        text=True,
    )
    settings = dict(line.split("=", 1) for line in made.stdout.splitlines())
    hidden = {"CUDA_VISIBLE_DEVICES": "0", "PYTHON": sys.executable}
    return variables(folder, **settings, **hidden)


@pytest.fixture
def bundle(folder: Path, tmp_path: Path) -> Path:
    with tarfile.open(folder / "sweep.tar.xz") as packed:
        packed.extractall(tmp_path, filter="data")
    return tmp_path / "sweep"


def run(
    bundle: Path, there: dict[str, str], *arguments: str, **more: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", str(bundle / "run.sh"), *arguments],
        env={**there, **more},
        cwd=bundle.parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


@pytest.mark.sweep
def test_a_run_can_be_gone_on_with_and_comes_back_as_one_file(bundle: Path, there: dict[str, str]) -> None:
    done = run(bundle, there, "--only", "variant=flash")
    assert done.returncode == 0, done.stdout + done.stderr
    file = bundle.parent / "sweep-results.tar.gz"
    assert f"run.sh: results: {file}, {file.stat().st_size} bytes" in done.stdout
    rows = harness.load(file)
    assert list(rows["status"]) == ["passed"]
    assert list(rows["executor"]) == ["device"]
    assert (rows["time_s"] > 0).all()

    again = run(bundle, there, "--only", "variant=flash")
    assert again.returncode == 0, again.stdout + again.stderr
    assert "to resume" not in again.stdout + again.stderr
    assert len(list((bundle.parent / "sweep-results/offline").glob("*/manifest.json"))) == 1
    assert harness.load(file).equals(rows)


@pytest.mark.sweep
def test_a_run_that_is_ended_is_packed_and_changed_wheels_are_not_run(
    bundle: Path, there: dict[str, str]
) -> None:
    ended = run(bundle, there, LIMIT_S="0.01")
    assert ended.returncode == 124, "as 'timeout' says it"
    (bundle / "wheels.txt").write_text("another bundle's")
    changed = run(bundle, there)
    assert changed.returncode == 2
    assert "wheels have changed: copy it again" in changed.stderr


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            {"PYTHON": "./another-python"},
            f"run.sh: ./another-python is Python 2.7, expected {PYTHON[6:]}: set",
        ),
        ({"ENVIRONMENT": "."}, "run.sh: . is there and no environment of a bundle: set ENVIRONMENT"),
    ],
)
def test_nothing_is_run_after_a_mistake(
    bundle: Path, there: dict[str, str], more: dict[str, str], message: str
) -> None:
    another = bundle.parent / "another-python"
    another.write_text("#!/bin/sh\necho 2.7\n")
    another.chmod(0o755)
    done = run(bundle, there, **more)
    assert done.returncode == 2, done.stdout + done.stderr
    assert message in " ".join(done.stderr.split())
    assert not list(bundle.parent.glob("sweep-results*"))


@pytest.mark.sweep
def test_packages_that_the_machine_lacks_are_named(bundle: Path, there: dict[str, str]) -> None:
    script = bundle / "run.sh"
    script.write_text(script.read_text().replace('provided="', 'provided="no-such-package ', 1))
    done = run(bundle, there, "--only", "nothing=1")
    assert "lacks packages that this bundle was told are there: no-such-package\n" in done.stdout


@pytest.mark.slow
def test_the_practice_for_a_bare_machine(tmp_path: Path) -> None:
    script = ROOT / "benchmarks" / "first_contact.sh"
    harness_here = str(Path(sys.executable).with_name("harness"))
    done = subprocess.run(
        [script, STUB_MACHINE / "practice.toml", "--only", "variant=flash"],
        env={**os.environ, "HARNESS": harness_here, "WORK": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=3600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rows = harness.load(tmp_path / "here" / "practice-results.tar.gz")
    assert set(rows["status"]) == {"passed"}
    assert len(rows) == 4
    packed = re.search(r"^packed: practice\.tar\.xz, ([\d.]+) MiB", done.stdout, re.M)
    assert packed is not None
    assert float(packed[1]) < 60
