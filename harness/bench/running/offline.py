"""What a bundle brings for a machine without a network, and the one file that it travels as.

wheels/       the packages that its cases need and that machine lacks, this one among them
wheels.txt    their SHA-256, as `sha256sum` writes and checks it
run.sh        makes an environment of them, runs the bundle and packs the results
"""

import os
import re
import shlex
import tarfile
from importlib.metadata import metadata
from pathlib import Path
from shutil import copy2, copytree, ignore_patterns
from tempfile import TemporaryDirectory
from typing import Final

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from harness.bench.running.bundle import REQUIREMENTS_FILE, RUN_SCRIPT, WHEELS_FILE, Bundle
from harness.bench.running.offline_packages import (
    OfflineMachine,
    add_wheels,
    provided_packages,
    run_pip,
    wheels_in,
)
from harness.results.manifest import DISTRIBUTION
from harness.system.errors import InputError
from harness.system.storage.digests import file_digest
from harness.system.storage.reading import refusals_told
from harness.system.storage.replacing import replaced

CHECKOUT = Path(__file__).parents[3]
PROJECT_FILE = "pyproject.toml"
BEGIN_OF_ZIP_TIMES = "315532800"
"""The first second of 1980, before which a zip file tells no time: equal sources make equal wheels."""

WHEELS = "wheels"
TEMPLATE = Path(__file__).with_name("run_offline.sh")
PYTHON = re.compile(r"python(3\.\d{1,2})")

SUFFIX = ".tar.xz"
EFFORT: Final = 9
"""Of xz: cases hold the same text in their stages, and this one looks back far enough to see it."""

MEBIBYTE = 2**20


def offline_machine(python: str, provided: Path | None) -> OfflineMachine:
    """Return what is known of a machine with `python3.12`, say, and the packages that a file names."""
    if not (CHECKOUT / PROJECT_FILE).is_file():
        raise InputError(
            f"--offline: {CHECKOUT} holds no {PROJECT_FILE}; expected a checkout of the harness, of which a "
            "wheel can be built, installed with 'pip install -e .'"
        )
    spelled = PYTHON.fullmatch(python)
    supported = metadata(DISTRIBUTION)["Requires-Python"] or ""
    if spelled is None or not SpecifierSet(supported).contains(spelled[1]):
        expected = f"a Python {supported} as in python3.12"
        raise InputError(f"--offline: found {python!r}, expected {expected}")
    return OfflineMachine(spelled[1], frozenset() if provided is None else provided_packages(provided))


def make_offline(bundle: Bundle, machine: OfflineMachine) -> None:
    """Add to a bundle what a machine without a network needs."""
    wheels = bundle.folder / WHEELS
    with refusals_told(f"--bundle: {bundle.folder}: cannot write"):
        wheels.mkdir()
        build_own_wheel(wheels)
        lines = (bundle.folder / REQUIREMENTS_FILE).read_text(encoding="utf-8").splitlines()
        needed = add_wheels(map(Requirement, lines), machine, wheels)
        _write_digests(bundle.folder)
        _write_script(bundle, machine, needed)


def pack(bundle: Bundle) -> str:
    """Pack a bundle into one file beside its folder."""
    folder = bundle.folder
    file = folder.resolve().with_name(folder.resolve().name + SUFFIX)
    with (
        refusals_told(f"--bundle: {file}: cannot write"),
        replaced(file) as temporary,
        tarfile.open(temporary, "w:xz", preset=EFFORT) as packed,
    ):
        packed.add(folder, arcname=file.name.removesuffix(SUFFIX), filter=_anonymous)
    return f"{file.name}, {file.stat().st_size / MEBIBYTE:.1f} MiB, SHA-256 {file_digest(file)}"


def build_own_wheel(folder: Path) -> None:
    """Build a wheel of this package from its checkout, with the packages that are installed here."""
    with TemporaryDirectory() as temporary:
        # a build leaves files beside the sources, and takes old ones that lie there
        sources, package = Path(temporary), CHECKOUT / "harness"
        copytree(package, sources / package.name, ignore=ignore_patterns("__pycache__"))
        for file in CHECKOUT.iterdir():
            if file.is_file():
                copy2(file, sources)
        arguments = ["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), temporary]
        run_pip(arguments, {**os.environ, "SOURCE_DATE_EPOCH": BEGIN_OF_ZIP_TIMES})


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Leave out whose file it is, as a bundle names no users."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def _write_digests(folder: Path) -> None:
    wheels = wheels_in(folder / WHEELS).values()
    digests = [f"{file_digest(wheel)}  {WHEELS}/{wheel.name}\n" for wheel in wheels]
    (folder / WHEELS_FILE).write_text("".join(digests), encoding="utf-8")


def _write_script(bundle: Bundle, machine: OfflineMachine, needed: set[str]) -> None:
    """Write the script, which knows which of the packages that the machine has it needs."""
    values = {
        "python": machine.python,
        "experiment": shlex.quote(bundle.index.manifest.experiment),
        "provided": " ".join(sorted(needed & machine.provided)),
    }
    text = TEMPLATE.read_text(encoding="utf-8")
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    script = bundle.folder / RUN_SCRIPT
    script.write_text(text, encoding="utf-8")
    script.chmod(0o755)
