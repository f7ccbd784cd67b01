"""Pairs of runs that a comparison of revisions has finished: kept, so that one that was ended goes on."""

import hashlib
import os
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from harness.errors import InputError, StorageError
from harness.plurals import counted
from harness.results.here import has_these_packages, is_of_this_machine
from harness.results.journal import Journal
from harness.results.manifest import Manifest, timestamp
from harness.results.run_folder import RunFolder
from harness.storage.lock import FileLock, holder_of
from harness.storage.reading import read_bytes

PAIRS_FILE = "pairs.jsonl"
LOCK_FILE = "comparison.lock"


class KeptPair(BaseModel):
    """One finished pair, or that a comparison begins, which has no runs yet."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    comparison: str
    """Names the comparison that it belongs to: a later one of the same kind is another."""
    asked: str
    """Digest of the experiment's text and of the options that choose among its cases."""
    old: str | None = None
    """The folder of the old revision's run, below that of the revisions."""
    new: str | None = None


class KeptPairs:
    """The finished pairs of one comparison, in a journal beside the runs of both revisions."""

    def __init__(self, folder: Path, experiment: Path, options: Sequence[str], *, resume: bool) -> None:
        """Keep pairs of runs of an experiment with these options in the folder of two revisions.

        With `resume` they belong to the newest comparison that asked for the same, if there is one.
        """
        self._folder = folder
        self._journal = Journal(folder / PAIRS_FILE, KeptPair)
        asked = b"\0".join([read_bytes(experiment), *(option.encode() for option in options)])
        self._asked = hashlib.sha256(asked).hexdigest()
        alike = [pair.comparison for pair in self._journal.records() if pair.asked == self._asked]
        if resume and alike:
            self._comparison = alike[-1]
        else:
            self._comparison = uuid.uuid4().hex
            self._journal.append(KeptPair(comparison=self._comparison, asked=self._asked))

    def finished(self, tell: Callable[[str], None]) -> list[tuple[RunFolder, RunFolder]]:
        """Return the runs of the comparison's finished pairs that are still there.

        Pairs of another machine, or of other packages, are passed over, as runs are that do not go on;
        `tell` hears how many.
        """
        pairs = [
            (RunFolder.open(old), RunFolder.open(new))
            for pair in self._journal.records()
            if pair.comparison == self._comparison and pair.old is not None and pair.new is not None
            for old, new in [(self._folder / pair.old, self._folder / pair.new)]
            if old.is_dir() and new.is_dir()
        ]
        here = [pair for pair in pairs if all(_is_made_here(run.manifest) for run in pair)]
        if len(here) < len(pairs):
            passed_over = counted(len(pairs) - len(here), "finished pair")
            tell(f"{passed_over} of another machine or of other packages: not taken into account")
        return here

    def keep(self, old: RunFolder, new: RunFolder) -> None:
        """Note a pair as finished."""
        below = [str(run.path.relative_to(self._folder)) for run in (old, new)]
        pair = KeptPair(comparison=self._comparison, asked=self._asked, old=below[0], new=below[1])
        self._journal.append(pair)


@contextmanager
def one_at_a_time(folder: Path) -> Iterator[None]:
    """Keep other comparisons of the same revisions out: each takes the runs that are made in their folder.

    Raises `InputError` where another one goes on.
    """
    file = folder / LOCK_FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock.take(file)
    except OSError as error:
        raise StorageError(f"{file}: cannot lock the comparison: {error.strerror}") from error
    if lock is None:
        holder = holder_of(file) or "another process"
        raise InputError(
            f"{folder}: these revisions are compared already, in {holder}: wait for it, or end it"
        )
    with lock:
        lock.note(f"process {os.getpid()} since {timestamp()}")
        yield


def _is_made_here(manifest: Manifest) -> bool:
    return is_of_this_machine(manifest) and has_these_packages(manifest)
