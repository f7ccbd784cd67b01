"""Pairs of runs that a comparison of revisions has finished: kept, so that one that was ended goes on."""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from harness.plurals import counted
from harness.results.here import has_these_packages, is_of_this_machine
from harness.results.journal import Journal
from harness.results.manifest import Manifest
from harness.results.run_folder import RunFolder
from harness.storage.reading import read_bytes

PAIRS_FILE = "pairs.jsonl"


class KeptPair(BaseModel):
    """One finished pair: what was asked, and the folders of both runs below that of the comparison."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    asked: str
    """Digest of the experiment's text and of the options that choose among its cases."""
    old: str
    new: str


class KeptPairs:
    """The finished pairs of one comparison, in a journal beside the runs of both revisions."""

    def __init__(self, folder: Path, experiment: Path, options: Sequence[str]) -> None:
        """Keep pairs of runs of an experiment with these options in the folder of two revisions."""
        self._folder = folder
        self._journal = Journal(folder / PAIRS_FILE, KeptPair)
        asked = b"\0".join([read_bytes(experiment), *(option.encode() for option in options)])
        self._asked = hashlib.sha256(asked).hexdigest()

    def finished(self, tell: Callable[[str], None]) -> list[tuple[RunFolder, RunFolder]]:
        """Return the runs of finished pairs that were asked for in the same way and are still there.

        Pairs of another machine, or of other packages, are passed over, as runs are that do not go on;
        `tell` hears how many.
        """
        pairs = [
            (RunFolder.open(old), RunFolder.open(new))
            for pair in self._journal.records()
            if pair.asked == self._asked
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
        self._journal.append(KeptPair(asked=self._asked, old=below[0], new=below[1]))


def _is_made_here(manifest: Manifest) -> bool:
    return is_of_this_machine(manifest) and has_these_packages(manifest)
