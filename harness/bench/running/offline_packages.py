"""Wheels for another machine: of packages that it lacks, and of what these need in turn.

A wheel's own metadata says what it needs.  A package that is installed here comes in the version that it has
here, with which the harness was tested.  What the other machine has is neither downloaded nor looked into.
"""

import platform
import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from email import message_from_bytes
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename

from harness.system.errors import InputError, one_line
from harness.system.printable import printable
from harness.system.processes.programs import run_program

GLIBC_MINORS = range(28, 4, -1)
"""Versions 2.x of the C library that wheels may be for, the newest first: systems since 2018 have 2.28."""

OLD_PLATFORMS = ("manylinux2014", "manylinux2010", "manylinux1")
"""Earlier names for C libraries 2.17, 2.12 and 2.5: pip does not know that they mean the same."""

PIP_LIMIT_S = 3600.0
"""Seconds for one call of pip: PyTorch's wheels are gigabytes."""


@dataclass(frozen=True)
class OfflineMachine:
    """What is known of a machine that has no network."""

    python: str
    """Version of its Python, `3.12`."""
    provided: frozenset[str]
    """Packages that it has, by their canonical names."""


def provided_packages(file: Path) -> frozenset[str]:
    """Return the packages that a requirements file, or the output of `pip freeze`, names."""
    try:
        lines = file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"--provided: {file}: {one_line(error)}; expected what 'pip freeze' prints"
        ) from error
    packages = set()
    for number, line in enumerate(lines, 1):
        text = f" {line}".partition(" #")[0].partition(" --")[0].strip(" \t\\")
        if not text or text.startswith("-"):
            continue
        try:
            packages.add(_package(Requirement(text)))
        except InvalidRequirement as error:
            mistake = f"found {printable(text)!r}, expected a package, as 'pip freeze' prints it"
            raise InputError(f"--provided: {file}: line {number}: {mistake}") from error
    return frozenset(packages)


def add_wheels(required: Iterable[Requirement], machine: OfflineMachine, folder: Path) -> set[str]:
    """Download to a folder, which may have some already, the wheels that a machine lacks.

    Returns all packages that are needed there: those that are required, and those that they need in turn.
    Raises `InputError` with pip's words where a wheel cannot be had.
    """
    needed: set[str] = set()
    looked_into: set[str] = set()
    waiting = {str(requirement): requirement for requirement in required}
    while waiting:
        needed |= {_package(requirement) for requirement in waiting.values()}
        lacking = [each for each in waiting.values() if _package(each) not in machine.provided]
        _download(lacking, machine, folder)
        wheels = wheels_in(folder)
        looked_into |= waiting.keys()
        inner = [
            inner_need for each in lacking for inner_need in _needs_of(wheels[_package(each)], each, machine)
        ]
        waiting = {str(each): each for each in inner if str(each) not in looked_into}
    return needed


def wheels_in(folder: Path) -> dict[str, Path]:
    """Return the wheels in a folder by the canonical names of their packages."""
    return {parse_wheel_filename(file.name)[0]: file for file in sorted(folder.glob("*.whl"))}


def run_pip(arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
    """Run this Python's pip; raises `InputError` with its own words where it fails."""
    command = [sys.executable, "-m", "pip", *arguments, "--quiet", "--disable-pip-version-check"]
    done = run_program(command, PIP_LIMIT_S, environment=environment)
    if done.returncode != 0:
        said = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        errors = [line.removeprefix("ERROR: ") for line in said if line.startswith("ERROR: ")]
        reason = (errors or said or [f"exit status {done.returncode}"])[-1]
        raise InputError(f"--offline: pip {arguments[0]}: {printable(reason)}")


def _package(requirement: Requirement) -> str:
    return canonicalize_name(requirement.name)


def _download(needs: Iterable[Requirement], machine: OfflineMachine, folder: Path) -> None:
    """Download what is not in the folder yet, without what it needs."""
    there = wheels_in(folder)
    wanted = sorted({_as_here(need) for need in needs if _package(need) not in there})
    if not wanted:
        return
    system = platform.machine()
    names = [*(f"manylinux_2_{minor}" for minor in GLIBC_MINORS), *OLD_PLATFORMS]
    platforms = [word for name in names for word in ("--platform", f"{name}_{system}")]
    of_python = ["--implementation", "cp", "--python-version", machine.python, "--only-binary", ":all:"]
    run_pip(["download", "--no-deps", *of_python, *platforms, "--dest", str(folder), *wanted])


def _as_here(requirement: Requirement) -> str:
    """Return a requirement without its condition, of the version that is here where that will do."""
    try:
        here = version(requirement.name)
    except PackageNotFoundError:
        return f"{requirement.name}{requirement.specifier}"
    is_pinned = any(specifier.operator in ("==", "===") for specifier in requirement.specifier)
    will_do = requirement.specifier.contains(here, prereleases=True) and not is_pinned
    return f"{requirement.name}=={here}" if will_do else f"{requirement.name}{requirement.specifier}"


def _needs_of(wheel: Path, need: Requirement, machine: OfflineMachine) -> Iterator[Requirement]:
    """Yield what a wheel needs on that machine, with the extras that are asked for."""
    target = dict[str, str | AbstractSet[str]](python_version=machine.python)
    target["python_full_version"] = f"{machine.python}.0"
    with zipfile.ZipFile(wheel) as files:
        (described,) = [
            name for name in files.namelist() if name.count("/") == 1 and name.endswith(".dist-info/METADATA")
        ]
        metadata = message_from_bytes(files.read(described))
    for text in metadata.get_all("Requires-Dist", []):
        requirement = Requirement(text)
        marker = requirement.marker
        if marker is None or any(marker.evaluate({**target, "extra": extra}) for extra in ("", *need.extras)):
            yield requirement
