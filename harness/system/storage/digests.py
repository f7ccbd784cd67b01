"""Digests of the files in a folder, kept in the folder: what has changed since it was written is seen."""

import hashlib
import json
from pathlib import Path

DIGESTS_FILE = "digests.json"
BLOCK_BYTES = 1 << 20


def file_digest(file: Path) -> str:
    """Return the SHA-256 of a file as hexadecimal digits."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def write_digests(folder: Path) -> None:
    """Note the digests of all files below a folder in it; what is no file, such as a pipe, never agrees."""
    (folder / DIGESTS_FILE).write_text(json.dumps(_digests(folder), indent=1), encoding="utf-8")


def difference(folder: Path) -> str | None:
    """Return None if a folder holds the files whose digests it notes and no others, else how it differs."""
    try:
        noted = json.loads((folder / DIGESTS_FILE).read_text("utf-8"))
        current_digests = _digests(folder)
    except (OSError, ValueError, RecursionError) as error:
        return f"{DIGESTS_FILE} cannot be read ({type(error).__name__})"
    if not isinstance(noted, dict):
        return f"{DIGESTS_FILE} holds no digests"
    changed = sorted(
        name
        for name in {*noted, *current_digests}
        if noted.get(name) != current_digests.get(name) or current_digests[name] is None
    )
    return f"{changed[0]} is missing or has changed" if changed else None


def _digests(folder: Path) -> dict[str, str | None]:
    """Return the digest of each file, None for what is neither file nor folder: it is not opened."""
    return {
        str(path.relative_to(folder)): file_digest(path) if path.is_file() else None
        for path in sorted(folder.rglob("*"))
        if not path.is_dir() and path != folder / DIGESTS_FILE
    }
