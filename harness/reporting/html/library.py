"""The library that makes tables sortable and filterable: DataTables, as the package itables brings it.

Its files are found beside the package's metadata; itables itself is not imported.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from harness.errors import HarnessError
from harness.printable import install_line
from harness.storage.reading import read_text

PACKAGE = "itables"
EXPORTS = re.compile(r"\bexport\s*\{([^{}]*)\};?")
DEFAULT_EXPORT = re.compile(r"([\w$]+) as default")


@dataclass(frozen=True)
class TableLibrary:
    """What a page needs of DataTables."""

    script: str
    """Leaves the class `DataTable` in the page's global object."""
    style: str
    version: str
    """That of the package that brought it."""


def table_library() -> TableLibrary:
    """Return the installed library; raises `HarnessError` where it is missing or is another one."""
    try:
        package = distribution(PACKAGE)
    except PackageNotFoundError as error:
        raise HarnessError(f"{PACKAGE} is not installed; expected: {install_line(_requirement())}") from error
    folder = Path(str(package.locate_file(f"{PACKAGE}/html")))
    try:
        script = read_text(folder / "dt_bundle.js")
        style = read_text(folder / "dt_bundle.css")
    except OSError as error:
        raise HarnessError(f"{PACKAGE} {package.version}: {error.filename}: {error.strerror}") from error
    licence = package.read_text("licenses/LICENSE") or ""
    return TableLibrary(_licensed(_as_global(script, package.version), licence), style, package.version)


def _as_global(script: str, version: str) -> str:
    """Return a module as a script of a page, where nothing can be exported."""
    exports = EXPORTS.search(script)
    default = DEFAULT_EXPORT.search(exports[1]) if exports else None
    if exports is None or default is None:
        raise HarnessError(f"{PACKAGE} {version}: no default export in its script; expected {_requirement()}")
    return script[: exports.start()] + f"globalThis.DataTable={default[1]};" + script[exports.end() :]


def _licensed(script: str, licence: str) -> str:
    """Return a script with its licence before it; those of its parts stand at its end."""
    return f"/*! {PACKAGE}\n{licence.replace('*/', '* /')}\n*/\n{script}"


def _requirement() -> str:
    """Return the package with its version, as this package asks for it."""
    from importlib.metadata import requires

    try:
        wanted = requires("attention-harness") or []
    except PackageNotFoundError:
        wanted = []
    return next((text for text in wanted if text.startswith(PACKAGE)), PACKAGE)
