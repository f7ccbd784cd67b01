"""A revision of a repository, whose code the workers of a run import instead of this process's."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.artifact.code_digests import OWN_PACKAGE, code_digest_at
from harness.results.manifest import Manifest

SOURCE_FOLDERS = ("", "src")
"""Where in a repository packages lie."""


@dataclass(frozen=True)
class Revision:
    """A revision that is checked out in a folder of its own."""

    name: str
    """As it was asked for."""
    commit: str
    folder: Path

    @property
    def sources(self) -> tuple[Path, ...]:
        """The folders that its packages lie in."""
        return tuple(folder for name in SOURCE_FOLDERS if (folder := self.folder / name).is_dir())

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
