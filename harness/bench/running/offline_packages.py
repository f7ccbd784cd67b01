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
from packaging.version import InvalidVersion, Version

from harness.system.errors import InputError, one_line
from harness.system.printable import printable
from harness.system.processes.programs import run_program

GLIBC_MINORS = range(28, 4, -1)
"""Versions 2.x of the C library that wheels may be for, the newest first: systems since 2018 have 2.28."""

OLD_PLATFORMS = ("manylinux2014", "manylinux2010", "manylinux1")
"""Earlier names for C libraries 2.17, 2.12 and 2.5: pip does not know that they mean the same."""

PIP_LIMIT_S = 3600.0
"""Seconds for one call of pip: PyTorch's wheels are gigabytes."""

MISPLACED = ("purelib", "platlib")
"""Folders in a wheel's `.data` whose files an installer moves among the modules."""


@dataclass(frozen=True)
class OfflineMachine:
    """What is known of a machine that has no network."""

    python: str
    """Version of its Python, `3.12`."""
    provided: Mapping[str, Version | None]
    """Packages that it has, by their canonical names, with their versions where they are known."""


@dataclass(frozen=True)
class Need:
    """A requirement, and the package that has it."""

    by: str
    requirement: Requirement

    @property
    def package(self) -> str:
        """Return the canonical name of what is needed."""
        return canonicalize_name(self.requirement.name)

    def unmet(self, there: Version | None) -> str | None:
        """Return that a version is not what is asked for, on a line; None where it is, or is not known."""
        if there is None or self.requirement.specifier.contains(there, prereleases=True):
            return None
        return f"{self.by} needs {self.requirement}, and {there} is there: they were not tested together"


def provided_packages(file: Path) -> dict[str, Version | None]:
    """Return the packages that a requirements file, or the output of `pip freeze`, names.

    Lines of options, editable installs among them, name none.  Raises `InputError` for any other line.
    """
    try:
        lines = file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"--provided: {file}: {one_line(error)}; expected what 'pip freeze' prints"
        ) from error
    packages: dict[str, Version | None] = {}
    for number, line in enumerate(lines, 1):
        text = f" {line}".partition(" #")[0].partition(" --")[0].strip(" \t\\")
        if not text or text.startswith("-"):
            continue
        try:
            requirement = Requirement(text)
        except InvalidRequirement as error:
            mistake = f"found {printable(text)!r}, expected a package, as 'pip freeze' prints it"
            raise InputError(f"--provided: {file}: line {number}: {mistake}") from error
        packages[canonicalize_name(requirement.name)] = _stated_version(requirement)
    return packages


def _stated_version(requirement: Requirement) -> Version | None:
    """Return the version of `name==version`."""
    stated = [specifier.version for specifier in requirement.specifier if specifier.operator in ("==", "===")]
    try:
        return Version(stated[0]) if stated else None
    except InvalidVersion:  # such as 2.*
        return None


def add_wheels(required: Iterable[Requirement], by: str, machine: OfflineMachine, folder: Path) -> list[Need]:
    """Download to a folder the wheels that a machine lacks.

    Args:
        required: what has to be there.
        by: the package that requires it.
        machine: the other machine.
        folder: for the wheels; those that are in it need not be downloaded.

    Returns all that is needed there, of these packages and of those that they need in turn.  Raises
    `InputError` with pip's words where a wheel cannot be had.
    """
    needs: list[Need] = []
    waiting = [Need(by, requirement) for requirement in required]
    while waiting:
        needs += waiting
        lacking = [need for need in waiting if need.package not in machine.provided]
        _download(lacking, machine, folder)
        wheels = wheels_in(folder)
        inner = [
            inner_need for need in lacking for inner_need in _needs_of(wheels[need.package], need, machine)
        ]
        waiting = [need for need in dict.fromkeys(inner) if need not in needs]
    return needs


def unmet(needs: Iterable[Need], machine: OfflineMachine, folder: Path) -> list[str]:
    """Return which packages are not there in the version that another one needs, a line each."""
    packed = {name: parse_wheel_filename(file.name)[1] for name, file in wheels_in(folder).items()}
    versions = {**packed, **machine.provided}
    lines = [need.unmet(versions[need.package]) for need in needs]
    return [line for line in lines if line is not None]


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


def _download(needs: Iterable[Need], machine: OfflineMachine, folder: Path) -> None:
    """Download what is not in the folder yet, without what it needs."""
    there = wheels_in(folder)
    wanted = sorted({_as_here(need.requirement) for need in needs if need.package not in there})
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


def _needs_of(wheel: Path, need: Need, machine: OfflineMachine) -> Iterator[Need]:
    """Yield what a wheel needs on that machine, with the extras that are asked for."""
    target = dict[str, str | AbstractSet[str]](python_version=machine.python)
    target["python_full_version"] = f"{machine.python}.0"
    with zipfile.ZipFile(wheel) as files:
        names = files.namelist()
        (described,) = [
            name for name in names if name.count("/") == 1 and name.endswith(".dist-info/METADATA")
        ]
        metadata = message_from_bytes(files.read(described))
    misplaced = [name for name in names if name.partition(".data/")[2].split("/")[0] in MISPLACED]
    if misplaced:
        raise InputError(
            f"--offline: {wheel.name}: its file {printable(misplaced[0])} needs an installer, and wheels are "
            "only unpacked there; name the package in --provided, and install it there"
        )
    for text in metadata.get_all("Requires-Dist", []):
        requirement = Requirement(text)
        marker, extras = requirement.marker, ("", *need.requirement.extras)
        if marker is None or any(marker.evaluate({**target, "extra": extra}) for extra in extras):
            yield Need(need.package, requirement)
