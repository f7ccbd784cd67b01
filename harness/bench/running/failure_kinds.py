"""What an exception in a worker means for its case, and which failures are no fault of a case."""

import os
from collections.abc import Iterable
from pathlib import Path

from harness.bench.workers.process import WorkerFailure
from harness.system.errors import (
    BuildError,
    ChangedCodeError,
    ChangedInputsError,
    EmulatorFindingsError,
    InputError,
    KilledError,
    PluginError,
    StorageError,
    UnfinishedError,
    UnsupportedError,
    causes,
    is_no_room,
    message_of,
    one_line,
    says_no_room,
)
from harness.system.status import Status
from harness.system.storage.cache_folder import ADVICE, cache_root
from harness.system.storage.room import full_folder

OUT_OF_MEMORY_WORDS = ("out of memory", "can't allocate memory", "cannot allocate memory", "bad_alloc")

STATUSES: dict[type[Exception], Status] = {
    InputError: Status.BUILD_FAILED,
    UnsupportedError: Status.UNSUPPORTED,
    PluginError: Status.BUILD_FAILED,
    BuildError: Status.BUILD_FAILED,
    EmulatorFindingsError: Status.WRONG,
    ChangedInputsError: Status.WRONG,
    MemoryError: Status.OUT_OF_MEMORY,
}
"""What an exception makes of its case, the first that fits; any other is a crash."""

OF_NO_ROOM = (Status.CRASHED, Status.BUILD_FAILED)
"""What a compiler or a kernel that finds no room for a file ends as."""


def failure_of(error: Exception) -> WorkerFailure:
    """Return what an exception means for the case; libraries tell of missing memory in many ways."""
    reason, chain = one_line(error), list(causes(error))
    if any(isinstance(cause, StorageError) or is_no_room(cause) for cause in chain):
        return WorkerFailure(Status.CRASHED, reason, no_room=True)
    if isinstance(error, ChangedCodeError) or any(map(_is_removed_from_cache, chain)):
        return WorkerFailure(Status.CRASHED, reason, transient=True)
    if isinstance(error, KilledError):
        return WorkerFailure(Status.CRASHED, reason, transient=True, was_killed=True)
    status = next((status for kind, status in STATUSES.items() if isinstance(error, kind)), Status.CRASHED)
    if status is Status.CRASHED and any(words in message_of(error).lower() for words in OUT_OF_MEMORY_WORDS):
        status = Status.OUT_OF_MEMORY
    return WorkerFailure(status, reason, bad_input=isinstance(error, InputError))


def _is_removed_from_cache(error: BaseException) -> bool:
    """Whether a file of the cache is gone: no fault of the case, and the next try may succeed."""
    if not isinstance(error, FileNotFoundError) or error.filename is None:
        return False
    return Path(os.fsdecode(error.filename)).is_relative_to(cache_root())


def stop_if_no_room(failure: WorkerFailure, folders: Iterable[Path] = ()) -> None:
    """Raise `UnfinishedError` if a failure came of a full disk: a row would blame the case, for good.

    Workers tell by the kind of their exception.  Compilers tell by their words, and what writes to mapped
    memory only dies; so the disks of the cache and of `folders` are looked at, too.
    """
    may_be_of_no_room = failure.status in OF_NO_ROOM
    is_told = failure.no_room or (may_be_of_no_room and any(map(says_no_room, (failure.reason, failure.log))))
    full = full_folder([cache_root(), *folders]) if may_be_of_no_room else None
    if is_told or full is not None:
        where = f"{full}: the disk is full" if full is not None else failure.reason
        advice = "" if ADVICE in where else ": make room where nothing can be written"
        raise UnfinishedError(f"{where}{advice}")
