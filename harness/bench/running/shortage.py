"""Failures that are no fault of a case: a disk that is full, or a folder that cannot be written."""

from collections.abc import Iterable
from pathlib import Path

from harness.artifact.cache import ADVICE, cache_root
from harness.bench.workers.process import WorkerFailure
from harness.system.errors import UnfinishedError, says_no_room
from harness.system.status import Status
from harness.system.storage.room import full_folder

LIKELY = (Status.CRASHED, Status.BUILD_FAILED)
"""What a compiler or a kernel that finds no room for a file ends as."""


def stop_if_no_room(failure: WorkerFailure, folders: Iterable[Path] = ()) -> None:
    """Raise `UnfinishedError` if a failure came of a full disk: a row would blame the case, for good.

    Workers tell by the kind of their exception.  Compilers tell by their words, and what writes to mapped
    memory only dies; so the disks of the cache and of `folders` are looked at, too.
    """
    no_room_reported = failure.no_room or (
        failure.status in LIKELY and any(map(says_no_room, (failure.reason, failure.log)))
    )
    full = full_folder([cache_root(), *folders]) if failure.status in LIKELY else None
    if no_room_reported or full is not None:
        where = f"{full}: the disk is full" if full is not None else failure.reason
        advice = "" if ADVICE in where else ": make room where nothing can be written"
        raise UnfinishedError(f"{where}{advice}")
