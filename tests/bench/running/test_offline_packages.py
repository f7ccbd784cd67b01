"""Wheels for a machine without a network: which are downloaded."""

import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from harness.bench.running.offline_packages import (
    OfflineMachine,
    add_wheels,
    provided_packages,
    wheels_in,
)
from harness.system.errors import InputError


def write_wheel(folder: Path, name: str, release: str, *needs: str, tag: str = "py3-none-any") -> None:
    described = f"{name}-{release}.dist-info"
    metadata = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {release}"]
    metadata += [f"Requires-Dist: {need}" for need in needs]
    with zipfile.ZipFile(folder / f"{name}-{release}-{tag}.whl", "w") as wheel:
        wheel.writestr(f"{described}/METADATA", "\n".join(metadata) + "\n")
        wheel.writestr(f"{described}/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n")
        wheel.writestr(f"{described}/RECORD", "")
        wheel.writestr(f"{name}.py", "")


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which pip finds wheels, and nowhere else."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    folder = tmp_path / "wheels"
    folder.mkdir()
    return folder


def add(wheels: Path, *lines: str, provided: tuple[str, ...] = ()) -> set[str]:
    """Add wheels for a machine that has some packages, and return what it needs."""
    return add_wheels(map(Requirement, lines), OfflineMachine("3.12", frozenset(provided)), wheels)


@pytest.mark.sweep
def test_what_packages_need_in_turn_is_there_in_wheels_for_that_machine(index: Path, wheels: Path) -> None:
    write_wheel(index, "first", "1", "second>=2", "older; python_version < '3.12'", "plots; extra == 'plots'")
    write_wheel(index, "second", "1")
    write_wheel(index, "second", "2.5", "third[fast]", "first")
    write_wheel(index, "third", "3", "fast; extra == 'fast'", tag="cp312-cp312-manylinux_2_17_x86_64")
    write_wheel(index, "third", "4", tag="cp311-cp311-manylinux_2_17_x86_64")
    write_wheel(index, "third", "5", tag="cp312-cp312-manylinux_2_99_x86_64")
    write_wheel(index, "fast", "1", tag="cp39-abi3-manylinux2014_x86_64")
    assert add(wheels, "first==1") == {"first", "second", "third", "fast"}
    assert {name: file.name.split("-")[1] for name, file in wheels_in(wheels).items()} == {
        "first": "1",
        "second": "2.5",
        "third": "3",
        "fast": "1",
    }


def test_what_the_machine_has_is_neither_downloaded_nor_what_only_that_needs(
    index: Path, wheels: Path
) -> None:
    write_wheel(index, "first", "1", "torch", "shared")
    write_wheel(index, "shared", "1")
    needed = add(wheels, "first==1", "torch==2.13.0", provided=("torch",))
    assert needed == {"first", "torch", "shared"}, "the index has no torch"
    assert set(wheels_in(wheels)) == {"first", "shared"}


def test_a_package_that_is_installed_here_comes_in_that_version(index: Path, wheels: Path) -> None:
    write_wheel(index, "first", "1", "numpy>=2")
    write_wheel(index, "numpy", version("numpy"))
    write_wheel(index, "numpy", "99")
    add(wheels, "first==1")
    assert f"numpy-{version('numpy')}-py3-none-any.whl" in {file.name for file in wheels.iterdir()}


def test_a_wheel_that_cannot_be_had_is_one_line(index: Path, wheels: Path) -> None:
    with pytest.raises(InputError, match=r"--offline: pip download: .*first==1") as caught:
        add(wheels, "first==1")
    assert len(caught.value.lines) == 1


FROZEN = """
# made by pip freeze
numpy==2.3.1
Cuda_Bindings[all]==13.0.3 ; python_version > "3"  # a comment
torch @ https://download.example.com/torch-2.9.0%2Bcu130-cp312-cp312-linux_x86_64.whl
pandas>=2
pinned==1.0 --hash=sha256:0123 \\
    --hash=sha256:4567
-e git+https://example.com/edited.git#egg=edited
--extra-index-url https://example.com
any==2.*
"""


def test_a_requirements_file_says_what_is_there(tmp_path: Path) -> None:
    file = tmp_path / "there.txt"
    file.write_text(FROZEN)
    assert provided_packages(file) == {"numpy", "cuda-bindings", "torch", "pandas", "pinned", "any"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            b"numpy==2.3.1\nPackage    Version\n",
            r"line 2: found 'Package    Version', expected a package, as",
        ),
        (None, r"--provided: .*there\.txt"),
    ],
)
def test_a_file_that_is_none_is_one_line(tmp_path: Path, content: bytes | None, message: str) -> None:
    file = tmp_path / "there.txt"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        provided_packages(file)
    assert len(caught.value.lines) == 1
