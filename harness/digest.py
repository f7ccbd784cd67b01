"""Content digests: what names cases, artifacts and versions of this package's own code."""

import functools
import hashlib
import json
from pathlib import Path
from typing import Any


def digest(value: Any) -> str:
    """Return the SHA-256 of a JSON-serialisable value in canonical form, as hexadecimal digits."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()


@functools.cache
def code_digest() -> str:
    """Return the digest of this package's Python sources.

    An artifact is a function of the problem, the parameters, the tools *and* the code that generates it,
    so a change to the harness must not be answered from an old artifact or an old result.
    """
    package = Path(__file__).parent
    hasher = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        if "reporting" in path.relative_to(package).parts:
            continue
        hasher.update(str(path.relative_to(package)).encode())
        hasher.update(path.read_bytes())
    return hasher.hexdigest()
