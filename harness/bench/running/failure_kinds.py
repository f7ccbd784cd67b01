"""What an exception in a worker means for the case that it happens to."""

import os
from pathlib import Path

from harness.artifact.cache import cache_root
from harness.bench.workers.protocol import FailureKind
from harness.system.errors import (
    BuildError,
    ChangedCodeError,
    ChangedInputsError,
    EmulatorFindingsError,
    InputError,
    KilledError,
    PluginError,
    StorageError,
    UnsupportedError,
    causes,
    is_no_room,
    message_of,
)

OUT_OF_MEMORY_WORDS = ("out of memory", "can't allocate memory", "cannot allocate memory", "bad_alloc")


def failure_kind(error: Exception) -> FailureKind:
    """Return what an exception means for the case; libraries tell of missing memory in many ways."""
    if any(isinstance(cause, StorageError) or is_no_room(cause) for cause in causes(error)):
        return "no-room"
    kinds: dict[type[Exception], FailureKind] = {
        InputError: "bad-input",
        UnsupportedError: "unsupported",
        PluginError: "build-failed",
        BuildError: "build-failed",
        ChangedCodeError: "changed-code",
        EmulatorFindingsError: "wrong",
        ChangedInputsError: "wrong",
        KilledError: "killed",
        MemoryError: "out-of-memory",
    }
    if any(is_removed_from_cache(cause) for cause in causes(error)):
        return "removed"
    for error_type, kind in kinds.items():
        if isinstance(error, error_type):
            return kind
    if any(words in message_of(error).lower() for words in OUT_OF_MEMORY_WORDS):
        return "out-of-memory"
    return "crashed"


def is_removed_from_cache(error: BaseException) -> bool:
    """Whether a file of the cache is gone: no fault of the case, and the next try may succeed."""
    if not isinstance(error, FileNotFoundError) or error.filename is None:
        return False
    return Path(os.fsdecode(error.filename)).is_relative_to(cache_root())
