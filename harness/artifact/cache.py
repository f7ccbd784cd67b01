"""The artifact cache: built cases in folders named by their content key, shared by any number of processes.

See `harness.system.storage.folder_store` for what happens when several processes build, fail or die.
"""

from collections.abc import Callable
from pathlib import Path

from pydantic import ValidationError

from harness.artifact.artifact import ARTIFACT_FILE, Artifact
from harness.system.errors import HarnessError
from harness.system.storage.cache_folder import ADVICE, cache_root
from harness.system.storage.folder_store import FolderStore

LIBRARIES = "emulator"
"""Folder below the cache's for compiled libraries of this package (`compiled_libraries`)."""


def compiled_libraries() -> FolderStore:
    """Return the store of libraries that are compiled on this machine once, below the cache's folder.

    Caches may share one through a symbolic link: libraries name each other by where they really are.
    """
    return FolderStore((cache_root() / LIBRARIES).resolve(), ADVICE)


class ArtifactCache:
    """Folders of built artifacts by content key; safe with many processes reading and writing at once."""

    def __init__(self, root: Path | None = None) -> None:
        """Use the cache in `root`, else in `$HARNESS_CACHE_DIR`, else in the user's cache folder (XDG)."""
        self.root = cache_root() if root is None else Path(root)
        self._store = FolderStore(self.root, ADVICE)

    def find(self, key: str) -> Path | None:
        """Return the folder of a complete artifact, which counts as its use, or None.

        A folder whose files are not those that were stored counts as absent, and so does one whose
        `artifact.json` cannot be read or is of another key.
        """
        folder = self._store.find(key)
        return folder if folder is not None and _is_described(folder, key) else None

    def store(self, key: str, build: Callable[[Path], Artifact | None]) -> Path:
        """Build an artifact into the cache and return its folder.

        `build` gets an empty folder to build into.  It leaves the artifact's description there as
        `artifact.json`, or returns the `Artifact` and has it written.  Else as `FolderStore.store`.
        """

        def fill(folder: Path) -> None:
            artifact = build(folder)
            if artifact is not None and not (folder / ARTIFACT_FILE).exists():
                (folder / ARTIFACT_FILE).write_text(artifact.model_dump_json(indent=2), encoding="utf-8")
            if not _is_described(folder, key):
                raise HarnessError(f"the build of {key} left no readable {ARTIFACT_FILE} of this key")

        stored = self._store.find(key)
        if stored is not None and not _is_described(stored, key):
            self._store.remove(stored)
        return self._store.store(key, fill)


def _is_described(folder: Path, key: str) -> bool:
    try:
        return Artifact.model_validate_json((folder / ARTIFACT_FILE).read_bytes()).key == key
    except (OSError, ValidationError):
        return False
