"""A run as one file, from which another machine makes its tables and figures again.

Equal runs give equal bytes: members in their order, without owners, times and permissions of files.  What
somebody else has packed is unpacked inside a folder of its own.
"""

import gzip
import io
import tarfile
import zlib
from functools import partial
from pathlib import Path

from harness.results.kept_outputs import OUTPUTS_FOLDER
from harness.system.errors import InputError, StorageError
from harness.system.printable import printable
from harness.system.storage.cache_folder import cache_root
from harness.system.storage.digests import BLOCK_BYTES, file_digest
from harness.system.storage.folder_store import FolderStore
from harness.system.storage.reading import refusals_told
from harness.system.storage.replacing import replaced

SUFFIX = ".tar.gz"
MEMBERS = ("manifest.json", "results.jsonl", "results.parquet", "rounds.jsonl", "samples.parquet")
"""Files of a run that an archive holds, those that there are; the outputs that it keeps come behind these."""
NEEDED = ("manifest.json", "results.jsonl")
UNPACKED = "archives"
"""Folder in the cache's."""


def is_archive(path: Path) -> bool:
    """Whether a path is meant to be an archive: a file of that suffix."""
    return path.name.endswith(SUFFIX) and path.is_file()


def write_archive(run: Path, file: Path) -> None:
    """Write a run's folder, `<experiment>/<run>`, to a file; raises `InputError` for a run without rows."""
    run = run.resolve()
    for name in NEEDED:
        if not (run / name).is_file() or (run / name).stat().st_size == 0:
            raise InputError(f"{run}: cannot be archived: its {name} is missing or empty; expected rows")
    outputs = sorted(f"{OUTPUTS_FOLDER}/{path.name}" for path in (run / OUTPUTS_FOLDER).glob("*.npz"))
    with refusals_told(f"--out {file}"), replaced(file) as temporary, temporary.open("wb") as packed:
        compressed = gzip.GzipFile(filename="", mode="wb", fileobj=packed, mtime=0)
        with compressed, tarfile.open(mode="w", fileobj=compressed, format=tarfile.PAX_FORMAT) as archive:
            for name in (*MEMBERS, *outputs):
                source = run / name
                if source.is_file() and not source.is_symlink():
                    _add(archive, source, f"{run.parent.name}/{run.name}/{name}")


def unpacked(file: Path) -> Path:
    """Return the folder of an archive's run, unpacked into the cache; raises `InputError` for none."""
    try:
        store, key = FolderStore((cache_root() / UNPACKED).absolute()), file_digest(file)
        folder = store.find(key) or store.store(key, partial(_unpack, file))
        (manifest,) = folder.glob("*/*/manifest.json")
    except (tarfile.TarError, EOFError, gzip.BadGzipFile, zlib.error, ValueError) as error:
        reason = f"not an archive of a run: {printable(str(error))}"
        raise InputError(f"{file}: {reason}; expected one by 'harness archive'") from error
    except OSError as error:
        raise StorageError(f"{file}: cannot be unpacked: {error.strerror or error}") from error
    return manifest.parent


def _add(archive: tarfile.TarFile, source: Path, name: str) -> None:
    member = tarfile.TarInfo(name)
    content = source.read_bytes()
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))


def _unpack(file: Path, place: Path) -> None:
    """Unpack into an empty folder; raises `ValueError` for what is no single run."""
    with gzip.open(file) as packed:
        with tarfile.open(fileobj=packed, mode="r:") as archive:
            archive.extractall(place, filter="data")
        while packed.read(BLOCK_BYTES):  # gzip checks its sum where its bytes end
            pass
    runs = [path.parent for path in place.glob("*/*/manifest.json")]
    if len(runs) != 1:
        raise ValueError(f"it holds {len(runs)} runs")
    if not (runs[0] / NEEDED[1]).is_file():
        raise ValueError(f"it has no {NEEDED[1]}")
