"""The artifact cache: built cases in folders named by their content key, shared by any number of processes.

A build happens in a private folder under `.building/` and is renamed into place when it is complete, so
that a reader finds the whole artifact or none.  The builder holds a file lock on its private folder's lock
file; the kernel drops the lock when a process dies, however it dies, and that is how what a killed build
left behind is told from a build that is under way.
"""

import contextlib
import fcntl
import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from platformdirs import user_cache_dir
from pydantic import ValidationError

from harness.artifact.artifact import ARTIFACT_FILE, Artifact
from harness.errors import HarnessError, InputError

CACHE_DIR_VARIABLE = "HARNESS_CACHE_DIR"
BUILDING = ".building"


def cache_root() -> Path:
    """Return the cache's folder: `$HARNESS_CACHE_DIR`, else the user's cache folder (XDG)."""
    return Path(os.environ.get(CACHE_DIR_VARIABLE) or user_cache_dir("attention-harness"))


class ArtifactCache:
    """Folders of built artifacts by content key; safe with many processes reading and writing at once."""

    def __init__(self, root: Path | None = None) -> None:
        """Use the cache in `root`, else in `$HARNESS_CACHE_DIR`, else in the user's cache folder (XDG)."""
        self.root = cache_root() if root is None else Path(root)

    def find(self, key: str) -> Path | None:
        """Return the folder of a complete artifact, which counts as its use, or None.

        A folder whose `artifact.json` is missing or cannot be read counts as absent.
        """
        folder = self._folder(key)
        if not _is_complete(folder):
            return None
        with contextlib.suppress(OSError):  # a cache that is mounted read-only serves all the same
            os.utime(folder)
        return folder

    def store(self, key: str, build: Callable[[Path], Artifact | None]) -> Path:
        """Build an artifact into the cache and return its folder.

        `build` gets an empty folder to build into.  It leaves the artifact's description there as
        `artifact.json`, or returns the `Artifact` and has it written.  Of several processes that store the
        same key at once, one wins and all return its folder.  A build that raises or is killed leaves
        nothing that `find` returns.  Raises what `build` raises, and `InputError` when the cache cannot be
        written.
        """
        target = self._folder(key)
        with self._private_folder() as private:
            artifact = build(private)
            if artifact is not None and not (private / ARTIFACT_FILE).exists():
                (private / ARTIFACT_FILE).write_text(artifact.model_dump_json(indent=2), encoding="utf-8")
            if not _is_complete(private):
                raise HarnessError(f"the build of {key} left no readable {ARTIFACT_FILE}")
            _flush_to_disk(private)
            self._publish(private, target)
        return target

    def size(self) -> int:
        """Return the bytes of all files of all artifacts."""
        return sum(_bytes_below(folder) for folder in self._entries())

    def prune(self, max_bytes: int) -> int:
        """Remove the least recently used artifacts until at most `max_bytes` are left; return bytes freed."""
        self._remove_abandoned_builds()
        entries = sorted((_last_use(folder), folder, _bytes_below(folder)) for folder in self._entries())
        left = sum(size for _, _, size in entries)
        freed = 0
        for _, folder, size in entries:
            if left - freed <= max_bytes:
                break
            with self._private_folder() as private:
                _move_away(folder, private)
            freed += size
        return freed

    def _folder(self, key: str) -> Path:
        if not key or Path(key).name != key or key.startswith("."):
            raise ValueError(f"an artifact's key must be usable as a folder name, found {key!r}")
        return self.root / key

    def _entries(self) -> list[Path]:
        try:
            return [path for path in self.root.iterdir() if path.is_dir() and path.name != BUILDING]
        except FileNotFoundError:
            return []

    @contextmanager
    def _private_folder(self) -> Iterator[Path]:
        """Make an empty folder on the cache's file system, locked while in use and removed afterwards."""
        self._remove_abandoned_builds()
        name = uuid.uuid4().hex
        lock_file = self.root / BUILDING / f"{name}.lock"
        folder = self.root / BUILDING / name
        try:
            lock = _create_locked(lock_file)
            folder.mkdir()
        except OSError as error:
            raise InputError(
                f"{self.root}: cannot write the artifact cache: {error.strerror}; "
                f"set {CACHE_DIR_VARIABLE} to a folder that can be written"
            ) from error
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            lock_file.unlink(missing_ok=True)
            os.close(lock)

    def _publish(self, private: Path, target: Path) -> None:
        """Rename a complete folder into place, unless another process was first."""
        while True:
            try:
                private.rename(target)
                return
            except OSError:
                if not target.exists():
                    raise
            if _is_complete(target):
                return
            with self._private_folder() as trash:
                _move_away(target, trash)

    def _remove_abandoned_builds(self) -> None:
        """Remove the private folders of processes that died in the middle of a build."""
        for lock_file in (self.root / BUILDING).glob("*.lock"):
            try:
                lock = os.open(lock_file, os.O_RDWR | os.O_CLOEXEC)
            except OSError:
                continue
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if _has_name(lock):
                    shutil.rmtree(lock_file.with_suffix(""), ignore_errors=True)
                    lock_file.unlink(missing_ok=True)
            except OSError:
                continue  # its builder is alive
            finally:
                os.close(lock)


def _create_locked(lock_file: Path) -> int:
    """Create a lock file and return its descriptor, locked.

    Another process may take a file that is not locked yet for an abandoned one and remove it; then the
    lock is on a file that has no name any more, and it is made anew.
    """
    lock_file.parent.mkdir(parents=True, exist_ok=True)
    while True:
        lock = os.open(lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _has_name(lock):
            return lock
        os.close(lock)


def _has_name(lock: int) -> bool:
    """Return whether a locked file was not removed by another process before the lock was had."""
    return os.fstat(lock).st_nlink > 0


def _move_away(folder: Path, private: Path) -> None:
    """Take a folder out of the cache in one step, into a private folder that is about to be removed."""
    with contextlib.suppress(FileNotFoundError):  # another process was first
        folder.rename(private / "removed")


def _is_complete(folder: Path) -> bool:
    try:
        Artifact.model_validate_json((folder / ARTIFACT_FILE).read_bytes())
    except (OSError, ValidationError):
        return False
    return True


def _flush_to_disk(folder: Path) -> None:
    """Write files through to disk: a power cut must not leave a complete-looking folder of empty files."""
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())


def _bytes_below(folder: Path) -> int:
    """Return the bytes of the files below a folder; what another process removes meanwhile counts 0."""
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(FileNotFoundError):
            if path.is_file():
                total += path.stat().st_size
    return total


def _last_use(folder: Path) -> float:
    try:
        return folder.stat().st_mtime
    except FileNotFoundError:
        return 0.0
