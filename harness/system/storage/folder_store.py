"""A store of folders named by a key: each is there whole or not at all, whoever writes, fails or dies.

A folder is filled in private under `.building/` and renamed into place when it is complete, so that a reader
finds all of it or none.  Its writer holds a lock, which the kernel drops when the writer dies, however it
dies; that is how what a killed writer left behind is told from what is under way.
"""

import contextlib
import errno
import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.system.errors import StorageError
from harness.system.storage.digests import difference, write_digests
from harness.system.storage.lock import FileLock

BUILDING = ".building"
LOCK = ".lock"
PRIVATE = 0o700
"""Mode of all folders, whatever the umask: what lies in them is executed."""


class FolderStore:
    """Folders by key; safe with many processes reading and writing at once."""

    def __init__(self, root: Path, advice: str = "") -> None:
        """Keep the folders below `root`; `advice` ends the message when that cannot be written."""
        self.root = Path(root)
        self._advice = advice

    def find(self, key: str) -> Path | None:
        """Return a folder that is as it was stored, which counts as its use, or None."""
        folder = self._folder(key)
        if not self.is_complete(folder):
            return None
        with contextlib.suppress(OSError):  # a store that is mounted read-only serves all the same
            os.utime(folder)
        return folder

    def store(self, key: str, fill: Callable[[Path], object]) -> Path:
        """Let `fill` write into an empty folder, store it, and return where it lies.

        Of several processes that store the same key at once, one wins and all return its folder.  Raises what
        `fill` raises, `FileNotFoundError` when somebody has removed the folder while it was filled, and
        `StorageError` when the store cannot be written.
        """
        target = self._folder(key)
        with self.private_folder() as private:
            fill(private)
            try:
                with self._written():
                    write_digests(private)
                    _flush_to_disk(private)
                    self._publish(private, target)
            except StorageError:
                if private.is_dir():
                    raise
                raise FileNotFoundError(errno.ENOENT, "removed while it was filled", str(private)) from None
        return target

    def is_complete(self, folder: Path) -> bool:
        """Return whether a folder is as it was stored."""
        return difference(folder) is None

    def remove(self, folder: Path) -> None:
        """Take a folder out of the store in one step."""
        with self.private_folder() as private, contextlib.suppress(FileNotFoundError):
            folder.rename(private / "removed")

    @contextmanager
    def private_folder(self) -> Iterator[Path]:
        """Make an empty folder on the store's file system, locked while in use and removed afterwards."""
        self.remove_abandoned()
        name = uuid.uuid4().hex
        folder = self.root / BUILDING / name
        with self._written():
            make_private(self.root)
            make_private(self.root / BUILDING)
            lock = FileLock.take(self.root / BUILDING / f"{name}{LOCK}", wait=True)
            assert lock is not None
        with lock:
            try:
                with self._written():
                    make_private(folder)
                yield folder
            finally:
                shutil.rmtree(folder, ignore_errors=True)

    def remove_abandoned(self) -> None:
        """Remove the private folders of processes that died.

        A folder is made after its lock and removed before it, so one without a lock is one whose removal
        failed: a process that was about to end may have written to it meanwhile.
        """
        with self._written():
            folders = sorted((self.root / BUILDING).glob("*"))
        for folder in folders:
            if folder.suffix != LOCK and not folder.with_suffix(LOCK).exists():
                shutil.rmtree(folder, ignore_errors=True)
        for lock_file in (folder for folder in folders if folder.suffix == LOCK):
            try:
                lock = FileLock.take(lock_file, create=False)
            except OSError:
                continue  # removed meanwhile, or not ours to remove
            if lock is not None:
                shutil.rmtree(lock_file.with_suffix(""), ignore_errors=True)
                lock.release()

    @contextmanager
    def _written(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            advice = f"; {self._advice}" if self._advice else ""
            raise StorageError(f"{self.root}: cannot write: {error.strerror or error}{advice}") from error

    def _folder(self, key: str) -> Path:
        if not key or Path(key).name != key or key.startswith("."):
            raise ValueError(f"a key must be usable as a folder name, found {key!r}")
        return self.root / key

    def _publish(self, private: Path, target: Path) -> None:
        """Rename a complete folder into place, unless another process was first."""
        while True:
            try:
                private.rename(target)
                return
            except OSError:
                if not target.exists():
                    raise
            if self.is_complete(target):
                return
            self.remove(target)


def make_private(folder: Path) -> None:
    """Make a folder that is the user's own, and its parents; one that is there stays as it is."""
    if not folder.parent.is_dir():
        folder.parent.mkdir(parents=True)
    try:
        folder.mkdir(mode=PRIVATE)
    except FileExistsError:
        return
    folder.chmod(PRIVATE)  # the umask may have taken away even the user's own rights


def _flush_to_disk(folder: Path) -> None:
    """Write files through to disk: a power cut must not leave a complete-looking folder of empty files."""
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())
