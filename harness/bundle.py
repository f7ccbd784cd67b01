"""Bundles: an experiment's cases built on one machine, to be checked and timed on another.

A bundle is a folder:

    bundle.json          the experiment, where it was built, and what became of each case
    artifacts/<key>/     the artifacts, as they lie in the cache
    requirements.txt     what the other machine has to install besides this package

The other machine needs the device's driver and Python, but no compiler, neither MLIR nor IREE.
"""

import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from harness import plugins
from harness.build_pool import Outcome
from harness.build_run import BuiltCase
from harness.building import read_artifact
from harness.case import Case
from harness.errors import HarnessError, InputError
from harness.experiment import Experiment, parse_experiment
from harness.provenance import DISTRIBUTION, Manifest
from harness.selection import select
from harness.status import Status
from harness.worker_process import WorkerFailure
from harness.worker_protocol import BuildRequest, Built, KeyFound, KeyRequest

BUNDLE_FILE = "bundle.json"
ARTIFACTS = "artifacts"
REQUIREMENTS_FILE = "requirements.txt"

FORMAT_VERSION = 1

COMPILERS = ("xtc-", "llvmlite", "iree-")
"""How the names of packages begin that only builds need."""

FOR_DEVICES = 'extra == "device"'


class BundledCase(BaseModel):
    """A case of a bundle: an artifact, or why there is none."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    case: Case
    key: str | None
    status: Status
    reason: str | None = None
    """Why it was not built."""


class BundleIndex(BaseModel):
    """The contents of `bundle.json`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format_version: int = FORMAT_VERSION
    manifest: Manifest
    """The experiment, and where and with what it was built."""
    cases: tuple[BundledCase, ...]


class Bundle:
    """A bundle on disk."""

    def __init__(self, folder: Path, index: BundleIndex) -> None:
        """Use `open_bundle` instead."""
        self.folder = folder
        self.index = index
        self._entries = {entry.case.id: entry for entry in index.cases}

    def experiment(self) -> Experiment:
        """Return the experiment that was built."""
        manifest = self.index.manifest
        name = Path(manifest.source_name or f"{manifest.experiment}.toml")
        return parse_experiment(manifest.source, self.folder / name)

    def cases(self, only: Sequence[str] = ()) -> list[Case]:
        """Return the cases, of those only what the filters of `harness.selection.select` let through."""
        cases = [entry.case for entry in self.index.cases]
        return select(cases, only) if only else cases

    def entry(self, case: Case) -> BundledCase:
        """Return what became of a case."""
        return self._entries[case.id]

    def artifact_folder(self, key: str) -> Path:
        """Return where an artifact lies."""
        return self.folder / ARTIFACTS / key


class BundledBuilds:
    """Answers what a `BuildPool` is asked from a bundle: nothing is built."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle

    def run(
        self, requests: Iterable[KeyRequest | BuildRequest], on_start: Callable[[Case], None]
    ) -> Iterator[Outcome]:
        """Yield the outcome of each request."""
        for request in requests:
            on_start(request.case)
            try:
                answer = self._built(request) if isinstance(request, BuildRequest) else self._key(request)
            except WorkerFailure as failure:
                yield Outcome(request.case, failure)
            else:
                yield Outcome(request.case, answer)

    def close(self) -> None:
        """Do nothing: there are no workers."""

    def _key(self, request: KeyRequest) -> KeyFound:
        entry = self._bundle.entry(request.case)
        if entry.key is None:
            raise WorkerFailure(entry.status, entry.reason or "not built")
        target = request.case.target
        try:
            device = plugins.target(target).device(target.partition(":")[2] or None)
        except HarnessError as error:
            raise WorkerFailure(Status.UNSUPPORTED, str(error)) from error
        return KeyFound(key=entry.key, device=device)

    def _built(self, request: BuildRequest) -> Built:
        entry = self._bundle.entry(request.case)
        if entry.key is None or entry.status is not Status.BUILT:
            raise WorkerFailure(entry.status, entry.reason or "not built")
        folder = self._bundle.artifact_folder(entry.key)
        return Built(artifact=read_artifact(folder), folder=folder, cached=True)


def require_room(folder: Path) -> None:
    """Raise `InputError` unless a bundle can be written to a folder, which is new or empty."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"--bundle: {folder} exists already; expected a new or an empty folder")


def write_bundle(folder: Path, manifest: Manifest, built: Iterable[BuiltCase]) -> Bundle:
    """Write built cases, and those that failed with what they failed of, to a folder.

    Raises `InputError` when it cannot be written.
    """
    entries = []
    try:
        (folder / ARTIFACTS).mkdir(parents=True, exist_ok=True)
        for case in built:
            record, failure = case.record, case.failure
            if record.folder is not None and record.key is not None:
                shutil.copytree(record.folder, folder / ARTIFACTS / record.key, dirs_exist_ok=True)
            status = Status.BUILT if failure is None else failure.status
            reason = None if failure is None else failure.reason
            entries.append(BundledCase(case=record.case, key=record.key, status=status, reason=reason))
        index = BundleIndex(manifest=manifest, cases=tuple(entries))
        (folder / REQUIREMENTS_FILE).write_text(requirements(), encoding="utf-8")
        (folder / BUNDLE_FILE).write_text(index.model_dump_json(indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"--bundle: {folder}: cannot write: {error.strerror or error}") from error
    return Bundle(folder, index)


def open_bundle(folder: Path) -> Bundle:
    """Open a bundle; raises `InputError` for what is none."""
    file = folder / BUNDLE_FILE
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"--bundle: {folder}: expected a folder with a {BUNDLE_FILE}, as 'harness build' writes it"
        ) from error
    version = re.search(r'"format_version": *(\d+)', text)
    if version is not None and int(version[1]) != FORMAT_VERSION:
        raise InputError(
            f"{file}: bundle format {version[1]}, this harness reads {FORMAT_VERSION}: build it anew"
        )
    try:
        return Bundle(folder, BundleIndex.model_validate_json(text))
    except ValidationError as error:
        detail = error.errors()[0]
        where = ".".join(str(part) for part in detail["loc"]) or "the file"
        raise InputError(f"{file}: not a bundle: {where}: {detail['msg']}") from error


def requirements() -> str:
    """Return the packages that a bundle needs besides this one, each pinned, one a line."""
    try:
        declared = requires(DISTRIBUTION) or []
    except PackageNotFoundError:
        declared = []
    lines = []
    for text in declared:
        package, _, condition = (part.strip() for part in text.partition(";"))
        if (not condition or condition == FOR_DEVICES) and not package.startswith(COMPILERS):
            lines.append(package)
    return "\n".join([*sorted(lines), ""])
