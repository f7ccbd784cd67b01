"""A wheel of this package, built from the checkout that it runs from."""

import os
import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from shutil import copy2, copytree, ignore_patterns
from tempfile import TemporaryDirectory

from packaging.requirements import Requirement

from harness.errors import InputError
from harness.running.offline_packages import run_pip

CHECKOUT = Path(__file__).parents[2]
PROJECT_FILE = "pyproject.toml"

BEGIN_OF_ZIP_TIMES = "315532800"
"""The first second of 1980, before which a zip file tells no time: equal sources make equal wheels."""


def require_checkout() -> None:
    """Raise `InputError` where no wheel can be built: this package does not run from a checkout."""
    if not (CHECKOUT / PROJECT_FILE).is_file():
        raise InputError(
            f"--offline: {CHECKOUT} holds no {PROJECT_FILE}; expected a checkout of the harness, of which a "
            "wheel can be built, installed with 'pip install -e .'"
        )


def build_own_wheel(folder: Path) -> None:
    """Build a wheel of this package into a folder; raises `InputError` with pip's words where that fails."""
    with TemporaryDirectory() as temporary:
        sources = Path(
            temporary
        )  # a build leaves files beside the sources, and takes old ones that lie there
        package = Path(__file__).parents[1]
        copytree(package, sources / package.name, ignore=ignore_patterns("__pycache__"))
        for file in CHECKOUT.iterdir():
            if file.is_file():
                copy2(file, sources)
        isolation = ["--no-build-isolation"] if _can_build_here() else []
        arguments = ["wheel", "--no-deps", *isolation, "--wheel-dir", str(folder), str(sources)]
        run_pip(arguments, {**os.environ, "SOURCE_DATE_EPOCH": BEGIN_OF_ZIP_TIMES})


def _can_build_here() -> bool:
    """Return whether what builds the package is installed; else pip downloads it."""
    project = tomllib.loads((CHECKOUT / PROJECT_FILE).read_text(encoding="utf-8"))
    try:
        return all(
            requirement.specifier.contains(version(requirement.name))
            for requirement in map(Requirement, project["build-system"]["requires"])
        )
    except PackageNotFoundError:
        return False
