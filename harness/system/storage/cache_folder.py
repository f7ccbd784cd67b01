"""Where the cache lies: what is built, and what is learnt of this machine."""

import functools
import os
from pathlib import Path

from platformdirs import user_cache_dir

from harness.system.errors import StorageError

CACHE_DIR_VARIABLE = "HARNESS_CACHE_DIR"

ADVICE = f"set {CACHE_DIR_VARIABLE} to a folder that can be written and has room"


def cache_root() -> Path:
    """Return the cache's folder: `$HARNESS_CACHE_DIR`, else the user's cache folder (XDG).

    A relative path is one from the folder in which this process has first asked, also where code changes to
    another one later: a process has one cache.

    Raises `StorageError` where no home folder is known.
    """
    try:
        root = Path(os.environ.get(CACHE_DIR_VARIABLE) or user_cache_dir("attention-harness")).expanduser()
    except RuntimeError as error:
        raise StorageError(f"the cache's folder: no home folder is known; {ADVICE}") from error
    return _from_here(root)


@functools.cache
def _from_here(path: Path) -> Path:
    return path.absolute()
