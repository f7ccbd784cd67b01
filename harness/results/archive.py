"""A run as one file, from which another machine makes its tables and figures again.

Equal runs give equal bytes: members in their order, without owners, times and permissions of files.  What
somebody else has packed is unpacked with care: regular files of a run, of the names that they have there, and
no more than `LARGEST_BYTES` of them.
"""

import gzip
import io
import re
import shutil
import tarfile
import zlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path, PurePosixPath

from harness.artifact.cache import cache_root
from harness.errors import InputError, StorageError
from harness.printable import printable
from harness.results.kept_outputs import OUTPUTS_FOLDER
from harness.storage.digests import file_digest
from harness.storage.folder_store import FolderStore
from harness.storage.replacing import replaced

SUFFIX = ".tar.gz"
MEMBERS = ("manifest.json", "results.jsonl", "results.parquet", "rounds.jsonl", "samples.parquet")
"""Files of a run that an archive holds, those that there are."""
KEPT_OUTPUT = re.compile(rf"{OUTPUTS_FOLDER}/[0-9a-f]+\.npz")
"""Files of a run's outputs, which come behind these."""
NEEDED = ("manifest.json", "results.jsonl")
LARGEST_BYTES = 16 * 2**30
"""Of all members together, unpacked."""
LARGEST_HEADER = 2**14
"""Of what stands between the contents of two members; a long name needs some 2 KiB."""
LARGEST_TAIL = 2**20
"""Bytes of zeros behind the last member, with which tar fills its blocks up."""
LONGEST_NAME = 200
UNPACKED = "archives"
"""Folder in the cache's."""
FOLDERS = 2
"""Of a member's path, before its name in the run: experiment and run."""


def is_archive(path: Path) -> bool:
    """Whether a path is meant to be an archive: a file of that suffix."""
    return path.name.endswith(SUFFIX) and path.is_file()


def write_archive(run: Path, file: Path) -> None:
    """Write a run's folder, `<experiment>/<run>`, to a file.

    Raises `InputError` where there is no room, and for folders of names that no archive may have.
    """
    run = run.resolve()
    for name in NEEDED:
        if not (run / name).is_file() or (run / name).stat().st_size == 0:
            raise InputError(f"{run}: cannot be archived: its {name} is missing or empty; expected rows")
    folder = PurePosixPath(run.parent.name, run.name)
    outputs = sorted(f"{OUTPUTS_FOLDER}/{path.name}" for path in (run / OUTPUTS_FOLDER).glob("*.npz"))
    members = [*MEMBERS, *filter(KEPT_OUTPUT.fullmatch, outputs)]
    for name in members:
        try:
            _require_name(folder / name, f"{folder}/{name}")
        except ValueError as error:
            expected = f"printable names, of {LONGEST_NAME} characters in all, without a '.' in front"
            raise InputError(f"{run}: cannot be archived: {error}; expected {expected}") from error
    try:
        with replaced(file) as temporary, temporary.open("wb") as packed:
            compressed = gzip.GzipFile(filename="", mode="wb", fileobj=packed, mtime=0)
            with compressed, tarfile.open(mode="w", fileobj=compressed, format=tarfile.PAX_FORMAT) as archive:
                for name in members:
                    source = run / name
                    if source.is_file() and not source.is_symlink():
                        _add(archive, source, f"{folder}/{name}")
    except OSError as error:
        raise InputError(
            f"--out {file}: {error.strerror or error}; expected a file that can be written"
        ) from error


def unpacked(file: Path) -> Path:
    """Return the folder of an archive's run, unpacked into the cache; once, while it is there as it was.

    Raises `InputError` for what is no archive of a run, and `StorageError` where there is no room for it.
    """
    try:
        store, key = FolderStore((cache_root() / UNPACKED).absolute()), file_digest(file)
        folder = store.find(key) or store.store(key, partial(_unpack, file))
        (run,) = folder.glob("*/*")
    except (tarfile.TarError, EOFError, gzip.BadGzipFile, zlib.error, ValueError) as error:
        raise InputError(
            f"{file}: not an archive of a run: {error}; expected one by 'harness archive'"
        ) from error
    except OSError as error:
        raise StorageError(f"{file}: cannot be unpacked: {error.strerror or error}") from error
    return run


def _add(archive: tarfile.TarFile, source: Path, name: str) -> None:
    member = tarfile.TarInfo(name)
    content = source.read_bytes()
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))


class _Bounded:
    """An archive's bytes, of which tar gets no more than is allowed: it reads headers of any size at once."""

    def __init__(self, packed: gzip.GzipFile) -> None:
        self._packed = packed
        self._end = LARGEST_HEADER

    def allow(self, end: int) -> None:
        """Set the first byte that is not to be read."""
        self._end = end

    def read(self, size: int = -1) -> bytes:
        """Read so many bytes; raises `ValueError` for more than is allowed, before any is unpacked."""
        self._require(self.tell() + size if size >= 0 else self._end + 1)
        return self._packed.read(size)

    def seek(self, place: int) -> int:
        """Go to a byte, which unpacks those before it."""
        self._require(place)
        return self._packed.seek(place)

    def tell(self) -> int:
        """Return where the next byte lies."""
        return self._packed.tell()

    def _require(self, end: int) -> None:
        if end > self._end:
            raise ValueError(f"it has a header of more than {LARGEST_HEADER:,} bytes")


def _unpack(file: Path, place: Path) -> None:
    """Unpack into an empty folder."""
    found: set[str] = set()
    with gzip.open(file) as packed:
        bounded = _Bounded(packed)
        with tarfile.open(fileobj=bounded, mode="r:") as archive:  # type: ignore[call-overload]
            for member in _checked(archive, bounded):
                target = place / member.name
                target.parent.mkdir(parents=True, exist_ok=True)
                content = archive.extractfile(member)
                if content is None:
                    raise ValueError(f"{member.name!r} is no file")
                with content, target.open("xb") as output:
                    shutil.copyfileobj(content, output)
                found.add(target.name)
        _require_end(packed)
    missing = [needed for needed in NEEDED if needed not in found]
    if missing:
        raise ValueError(f"it has no {missing[0]}")


def _require_name(path: PurePosixPath, name: str) -> None:
    """Raise `ValueError` unless a member's name is one that a file of a run may have."""
    shown = repr(name[:LONGEST_NAME])
    inner = _inner(path)
    is_named_so = (inner in MEMBERS or KEPT_OUTPUT.fullmatch(inner) is not None) and str(path) == name
    if not is_named_so or any(part.startswith(".") for part in path.parts) or path.is_absolute():
        raise ValueError(f"{shown} is no file of a run")
    if len(name) > LONGEST_NAME or printable(name) != name:
        raise ValueError(f"{shown} is no name of a run")


def _inner(path: PurePosixPath) -> str:
    """Return what a member is called in the folder of its run."""
    return str(PurePosixPath(*path.parts[FOLDERS:]))


def _require_end(packed: gzip.GzipFile) -> None:
    """Read to the end, where gzip finds what was damaged; raises `ValueError` where more follows than zeros.

    tar reads no further than its last block, and gzip's checksum stands behind all of them.
    """
    tail = packed.read(LARGEST_TAIL + 1)
    if len(tail) > LARGEST_TAIL or tail.strip(b"\0"):
        raise ValueError("something follows behind its last file")


def _checked(archive: tarfile.TarFile, bounded: _Bounded) -> Iterator[tarfile.TarInfo]:
    """Yield the members, to be read before the next one; raises `ValueError` for one that no run has."""
    total, runs, names = 0, set(), set()
    for member in archive:
        path = PurePosixPath(member.name)
        if not member.isreg() or member.issparse() or member.size < 0:
            raise ValueError(f"{member.name[:LONGEST_NAME]!r} is no regular file")
        _require_name(path, member.name)
        runs.add(path.parts[:FOLDERS])
        total += member.size
        if len(runs) > 1 or total > LARGEST_BYTES:
            raise ValueError("it holds several runs" if len(runs) > 1 else f"it holds {total:,} bytes")
        inner = _inner(path)
        if inner in names:
            raise ValueError(f"it holds {inner} twice")
        names.add(inner)
        content_end = member.offset_data + member.size
        bounded.allow(content_end)
        yield member
        bounded.allow(content_end + LARGEST_HEADER)
