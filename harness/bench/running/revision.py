"""A revision of a repository, whose code the workers of a run import instead of this process's."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.artifact.binary import PACKAGE
from harness.artifact.code_digests import OWN_PACKAGE, code_digest_at
from harness.results.manifest import Manifest
from harness.system.errors import InputError

SOURCE_FOLDERS = ("", "src")
REQUEST_FILES = (
    "bench/building/case_build.py",
    "bench/running/check_requests.py",
    "bench/running/expectations.py",
    "bench/running/prepared_case.py",
    "bench/workers/protocol.py",
)
"""Where in this package it is said what a worker is asked, and what it answers with."""


@dataclass(frozen=True)
class Revision:
    """A revision that is checked out in a folder of its own."""

    name: str
    commit: str
    folder: Path

    @property
    def sources(self) -> tuple[Path, ...]:
        """The folders that its packages lie in."""
        return tuple(folder for name in SOURCE_FOLDERS if (folder := self.folder / name).is_dir())

    def require_same_requests(self) -> None:
        """Raise `InputError` where workers of this revision do not understand what this process asks."""
        package = self.place_of(OWN_PACKAGE)
        if package is None:
            return
        unknown = sorted({*_requests(PACKAGE)} - {*_requests(package)})
        if unknown:
            raise InputError(
                f"--revisions: {self.name}: its workers do not know {unknown[0]}, which is asked here; "
                "expected revisions that take turns by the same requests: run the experiment with each one's "
                "own 'harness run', and compare the two folders"
            )

    def described(self, manifest: Manifest) -> Manifest:
        """Return what describes a run of this revision, whose packages are others than this process's."""
        changes: dict[str, Any] = {
            "plugin_code": {
                name: self._digest(name) or its_digest for name, its_digest in manifest.plugin_code.items()
            }
        }
        own = self._digest(OWN_PACKAGE)
        if own is not None:
            changes |= {"code_digest": own, "git_commit": self.commit, "git_dirty": False}
        return manifest.model_copy(update=changes)

    def place_of(self, package: str) -> Path | None:
        """Return the folder of a package, or the file of a module, None where this revision has none."""
        for folder in self.sources:
            if (folder / package / "__init__.py").exists():
                return folder / package
            if (folder / f"{package}.py").exists():
                return folder / f"{package}.py"
        return None

    def _digest(self, name: str) -> str | None:
        """Return the digest of code of a name, None where it is none of this revision."""
        place = self.place_of(name.partition(":")[0])
        return None if place is None else code_digest_at(name, [place])


def _requests(package: Path) -> Iterator[str]:
    """Yield the requests to workers with their arguments, and the fields of answers, as sources have them."""
    for name in REQUEST_FILES:
        file = package / name
        tree = ast.parse(file.read_text("utf-8")) if file.is_file() else ast.Module([], [])
        for node in tree.body:
            if isinstance(node, ast.FunctionDef):
                arguments = [argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)]
                if arguments[:1] == ["life"]:
                    yield f"{node.name}({', '.join(arguments[1:])})"
            elif isinstance(node, ast.ClassDef):
                fields = [ast.unparse(line.target) for line in node.body if isinstance(line, ast.AnnAssign)]
                yield f"{node.name}({', '.join(fields)})"
