"""A run's folder on disk: manifest, journals of results and timing rounds, and the tables made of them.

    results/<experiment>/<run>/manifest.json      provenance
                               results.jsonl      one line per finished case, written at once
                               rounds.jsonl       one line per interleaved timing round
                               results.parquet    the table of `harness.load`
                               samples.parquet    one row per timing sample

The journals are the truth; the Parquet files are made from them for other tools.
"""

import contextlib
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from harness.results.format_version import FORMAT_VERSION
from harness.results.frame import newest_of_each_case, results_frame
from harness.results.journal import Journal, first_mistake
from harness.results.manifest import Manifest, part_of, timestamp
from harness.results.result import Result
from harness.results.run_identity import folder_name, names_of_folders
from harness.results.timing_rounds import Round, samples_frame
from harness.system.errors import InputError, StorageError, cut
from harness.system.printable import all_printable, printable
from harness.system.storage.lock import FileLock
from harness.system.storage.reading import exists, refusals_told, unusable
from harness.system.storage.replacing import remove_leftovers, replaced

if TYPE_CHECKING:
    import pandas

MANIFEST_FILE = "manifest.json"
RESULTS_FILE = "results.jsonl"
ROUNDS_FILE = "rounds.jsonl"
RESULTS_TABLE = "results.parquet"
SAMPLES_TABLE = "samples.parquet"
LOCK_FILE = ".lock"

START_FORMAT = "%Y-%m-%dT%H-%M-%S"
"""How a run is called, after the time in UTC when it starts."""


class RunFolder:
    """One run of an experiment on disk; what was appended survives a crash at any moment."""

    def __init__(self, path: Path, manifest: Manifest, place: Path | None = None) -> None:
        """Use `create`, `open` or `latest_in` instead."""
        self.path = path
        self.place = path if place is None else place
        """What a person knows the run by: its folder; of an archive's run, its path in the archive's file."""
        self.manifest = manifest
        self._results = Journal(path / RESULTS_FILE, Result)
        self._rounds = Journal(path / ROUNDS_FILE, Round)
        self._lock: FileLock | None = None

    @classmethod
    def create(cls, root: Path, experiment: str, manifest: Manifest) -> "RunFolder":
        """Start a run: make `root/<experiment>/<UTC time>/`, lock it and write the manifest.

        Raises `InputError` when the folder cannot be written or `experiment` cannot be a folder's name.
        """
        if experiment in ("", ".", "..") or Path(experiment).name != experiment:
            raise InputError(f"experiment name {experiment!r} cannot be a folder's name")
        path = _make_unique_folder(Path(root) / experiment, datetime.now(UTC).strftime(START_FORMAT))
        folder = cls(path, manifest)
        folder._take_lock()
        try:
            folder._write_manifest()
        except BaseException:
            folder.release()
            raise
        return folder

    @classmethod
    def open(cls, path: Path, place: Path | None = None) -> "RunFolder":
        """Open an existing run; `place` is what a person knows it by, if not its folder.

        Raises `InputError` when the path is no run folder, or its manifest cannot be read.
        """
        return cls(Path(path), _read_manifest(Path(path)), place)

    def lock(self) -> None:
        """Let nobody else write to this run until `release`, or until this process ends, however it ends.

        The manifest is read again: another process may have gone on with the run until now.  Raises
        `InputError` that says who writes to it, or why it cannot be locked or written.
        """
        if self._lock is None:
            self._take_lock()
            self.manifest = _read_manifest(self.path)

    def release(self) -> None:
        """Let others go on with this run."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    @classmethod
    def latest_in(cls, folder: Path) -> "RunFolder | None":
        """Open the newest run of an experiment's folder, of those with rows if one has some.

        None without a run.  One that ended before its first case did would hide what was measured.
        """
        runs = run_paths(folder)
        return cls.open(next(filter(_has_rows, runs), runs[0])) if runs else None

    @property
    def run(self) -> str:
        """The run's name: when it started, `2026-11-21T10-22-07`, unless somebody has renamed the folder."""
        return folder_name(self.path)

    @property
    def experiment(self) -> str:
        """Name of the experiment."""
        return self.manifest.experiment

    def append_result(self, result: Result) -> None:
        """Write a finished case's row through to disk."""
        self._results.append(result)

    def append_round(self, round: Round) -> None:
        """Write a timing round's samples through to disk."""
        self._rounds.append(round)

    def append_rounds(self, rounds: Sequence[Round]) -> None:
        """Write those of several through at once."""
        self._rounds.append(*rounds)

    def lines(self) -> Iterator[Result]:
        """Yield every row that was written, repeated cases included; errors as in `results`."""
        return self._results.records()

    def results(self) -> list[Result]:
        """Return the newest row of each case, in the order in which the cases first finished.

        A last line torn by a kill is ignored; any other line that is no row raises `InputError`.
        """
        return list({result.case: result for result in self.lines()}.values())

    def table(self) -> "pandas.DataFrame":
        """Return the rows of `results` as a table, see `results_frame`; errors as there."""
        return tables_of([self])

    def rounds(self) -> list[Round]:
        """Return all timing rounds, in the order of their writing; errors as in `results`."""
        return list(self._rounds.records())

    def mark_resumed(self, described: Manifest) -> None:
        """Note in the manifest that the run goes on now, and what `described` says of code and packages."""
        parts = (*self.manifest.parts, part_of(described))
        resumed = (*self.manifest.resumed, described.started)
        self._update_manifest(finished=None, resumed=resumed, parts=parts)

    def plan(self, cases: Collection[str], whole: Collection[str]) -> None:
        """Note in the manifest which cases are asked for, out of those of the whole experiment."""
        planned = dict.fromkeys((*(self.manifest.planned or ()), *cases))
        self._update_manifest(planned=tuple(planned), left_out=len(set(whole) - set(planned)))

    def record_bandwidths(
        self,
        bandwidths: Mapping[str, Mapping[str, float]],
        unmeasured: Mapping[str, Mapping[str, str]],
    ) -> None:
        """Add measured bandwidths, and why these or peaks could not be measured, to the manifest, by name."""
        manifest = self.manifest
        self._update_manifest(
            bandwidths={
                **manifest.bandwidths,
                **{name: dict(by_level) for name, by_level in bandwidths.items()},
            },
            unmeasured={
                **manifest.unmeasured,
                **{name: dict(reasons) for name, reasons in unmeasured.items()},
            },
        )

    def finish(self, timed_share: float | None = None, spent_s: Mapping[str, float] | None = None) -> None:
        """Write the tables `results.parquet` and `samples.parquet` and the time of the run's end."""
        results, samples = self.table(), samples_frame(self.rounds())
        _replace_file(self.path / RESULTS_TABLE, lambda path: results.to_parquet(path, index=False))
        _replace_file(self.path / SAMPLES_TABLE, lambda path: samples.to_parquet(path, index=False))
        self._update_manifest(finished=timestamp(), timed_share=timed_share, spent_s=dict(spent_s or {}))

    def note_spent(self, spent_s: Mapping[str, float]) -> None:
        """Write what the parts of a run took that has ended, unless it goes on already."""
        with contextlib.suppress(InputError):
            self.lock()
            try:
                self._update_manifest(spent_s=dict(spent_s))
            finally:
                self.release()

    def _take_lock(self) -> None:
        file = self.path / LOCK_FILE
        with refusals_told(f"{file}: cannot lock the run", StorageError):
            lock = FileLock.take(file)
        if lock is None:
            raise InputError(
                f"{self.path}: this run goes on already, in another process: wait for it, or end it"
            )
        self._lock = lock
        remove_leftovers(self.path)

    def _update_manifest(self, **changes: Any) -> None:
        self.manifest = self.manifest.model_copy(update=changes)
        self._write_manifest()

    def _write_manifest(self) -> None:
        text = self.manifest.model_dump_json(indent=2) + "\n"
        _replace_file(self.path / MANIFEST_FILE, lambda path: path.write_text(text, encoding="utf-8"))


def tables_of(runs: Sequence[RunFolder]) -> "pandas.DataFrame":
    """Return the results of different runs as one table, one run after the other."""
    names = names_of_folders([run.place for run in runs])

    def lines() -> Iterator[Result]:
        for run, name in zip(runs, names, strict=True):
            for row in run.lines():
                is_so_named = (row.experiment, row.run) == (run.experiment, name)
                yield (
                    row if is_so_named else row.model_copy(update={"experiment": run.experiment, "run": name})
                )

    return newest_of_each_case(results_frame(lines()))


def _has_rows(run: Path) -> bool:
    journal = run / RESULTS_FILE
    return exists(journal) and journal.stat().st_size > 0


def run_paths(folder: Path) -> list[Path]:
    """Return the runs in an experiment's folder, the newest first."""
    try:
        runs = [path for path in Path(folder).iterdir() if exists(path / MANIFEST_FILE)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise unusable(folder, error) from error
    return sorted(runs, key=_age_key, reverse=True)


def _read_manifest(folder: Path) -> Manifest:
    file = folder / MANIFEST_FILE
    try:
        content = json.loads(file.read_text("utf-8"))
        texts = all_printable(content)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise InputError(f"{folder}: not a run folder: expected a {MANIFEST_FILE} in it") from error
    except OSError as error:
        raise InputError(f"{file}: cannot read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file}: not JSON: {cut(printable(str(error)), 200)}") from error
    if not isinstance(content, dict) or "format_version" not in content:
        raise InputError(f"{file}: not a manifest: expected a JSON object with format_version")
    if content["format_version"] != FORMAT_VERSION:
        version = cut(str(texts["format_version"]), 60)
        raise InputError(
            f"{folder}: results format {version}, this harness reads {FORMAT_VERSION}: rerun the experiment"
        )
    try:
        built = texts.get("built")
        if isinstance(built, dict):
            texts["built"] = {**built, "source": content["built"].get("source")}
        return Manifest.model_validate({**texts, "source": content.get("source")})
    except ValidationError as error:
        raise InputError(f"{file}: not a manifest: {first_mistake(error)}") from error


def _make_unique_folder(parent: Path, name: str) -> Path:
    """Make `parent/name`, or `name-2`, `name-3` … where that exists; two processes never get the same."""
    path, number = parent / name, 1
    try:
        parent.mkdir(parents=True, exist_ok=True)
        while True:
            try:
                path.mkdir()
                return path
            except FileExistsError:
                number += 1
                path = parent / f"{name}-{number}"
    except OSError as error:
        raise InputError(f"{path}: cannot create the run's folder: {error.strerror}") from error


def _age_key(run: Path) -> tuple[str, int]:
    """Sort run folders by the time in their names; a folder renamed by hand counts as the oldest."""
    match = re.fullmatch(r"(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d)(?:-(\d+))?", run.name)
    return (match[1], int(match[2] or 1)) if match else ("", 0)


def _replace_file(path: Path, write: Callable[[Path], object]) -> None:
    with refusals_told(f"{path}: cannot write", StorageError), replaced(path) as temporary:
        write(temporary)
