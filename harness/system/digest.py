"""Content digests of values and of arrays."""

import hashlib
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


def digest(value: Any) -> str:
    """Return the SHA-256 of a JSON-serialisable value in canonical form, as hexadecimal digits."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def digest_of_array(array: "np.ndarray") -> str:
    """Return a digest of an array's values, fast enough for gigabytes, as hexadecimal digits."""
    import numpy as np

    values = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return hashlib.blake2b(values.data, digest_size=16).hexdigest()
