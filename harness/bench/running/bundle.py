"""Bundles: an experiment's cases built on one machine, to be checked and timed on another.

A bundle is a folder:

    bundle.json          the experiment, where it was built, and what became of each case
    artifacts/<key>/     the artifacts, as they lie in the cache
    requirements.txt     what the other machine has to install besides this package
    README.md            for who receives it (`harness.bench.running.bundle_readme`); nothing reads it
    wheels/, run.sh …    for a machine without a network (`harness.bench.running.offline`)

The other machine needs the device's driver and Python, but no compiler, neither MLIR nor IREE.
"""

import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from harness.artifact.artifact import Artifact
from harness.artifact.code_digests import code_digest
from harness.bench.building.case_build import read_artifact
from harness.bench.building.pool import OnStart, note_answer
from harness.bench.row_maker import CaseRecord
from harness.bench.workers.process import WorkerFailure
from harness.bench.workers.protocol import Built
from harness.experiment.experiment import Experiment, parse_experiment
from harness.experiment.searched import ParamsSource
from harness.experiment.selection import select
from harness.problem.case import Case
from harness.results.manifest import DISTRIBUTION, Manifest, plugin_code
from harness.results.output_folder import ensure_writable_folder
from harness.results.result import Result
from harness.system.digest import digest as digest_of_values
from harness.system.errors import HarnessError, InputError, PluginError, one_line
from harness.system.numbers import Count
from harness.system.status import Status
from harness.system.storage.digests import file_digest
from harness.system.storage.reading import exists, refusals_told, unusable
from harness.system.validation import FrozenModel, messages
from harness.targets.answers import device_of
from harness.targets.executors import wanted_executor

BUNDLE_FILE = "bundle.json"
ARTIFACTS = "artifacts"
REQUIREMENTS_FILE = "requirements.txt"
WHEELS_FILE = "wheels.txt"
RUN_SCRIPT = "run.sh"

COMPILERS = ("xtc-", "llvmlite", "iree-")
"""How the names of packages begin that only builds need."""

EXTRA = re.compile(r"""extra == ["'](\w+)["']""")

NATIVE = {"harness.targets.cpu.": "llvmlite", "harness.variants.baselines.iree.": "iree-base-runtime"}
"""What loaders of code for the processor need, by the beginning of their names."""

TORCH = "harness.variants.baselines.torch."


class BundledCase(FrozenModel):
    """A case of a bundle: an artifact, or why there is none."""

    case: Case
    key: Annotated[str, Field(pattern=r"^[0-9A-Za-z_-]{1,128}$")] | None
    """Its content key, which names the folder of its artifact."""
    status: Status
    reason: str | None = None
    digest: str | None = None
    """Of the files of its artifact."""
    params_source: ParamsSource | None = None
    flops_executed: Count | None = None
    """By its code, for its lengths: an artifact is of all lengths of a capacity."""


class BundleIndex(FrozenModel):
    """The contents of `bundle.json`."""

    format_version: Literal[4] = 4
    """Raised when this package could not load what it built before."""
    manifest: Manifest
    """The experiment, and where and with what it was built."""
    cases: Annotated[tuple[BundledCase, ...], Field(min_length=1)]


class Bundle:
    """A bundle on disk."""

    def __init__(self, folder: Path, index: BundleIndex) -> None:
        """Use `open_bundle` instead."""
        self.folder = folder
        self.index = index
        self._entries = {entry.case.id: entry for entry in index.cases}

    @property
    def is_offline(self) -> bool:
        """Return whether it brings all that a machine without a network needs."""
        return (self.folder / RUN_SCRIPT).exists()

    @property
    def other_code(self) -> list[str]:
        """Return what to say if other code has built it than runs it, of this package or of plugins."""
        manifest, here = self.index.manifest, plugin_code(self.cases())
        built = manifest.plugin_code
        changed = [name for name in sorted(built.keys() & here) if here[name] != built[name]]
        if manifest.code_digest != code_digest():
            commit = (manifest.git_commit or "unknown")[:12]
            changed.insert(0, f"harness ({manifest.harness_version}, commit {commit})")
        names = ", ".join(changed)
        return [f"{self.folder} was built by other code of {names} than runs it"] if changed else []

    @property
    def command_words(self) -> tuple[str, ...]:
        """What names it on a command line."""
        return ("--bundle", str(self.folder))

    def experiment(self) -> Experiment:
        """Return the experiment that was built."""
        manifest = self.index.manifest
        name = Path(manifest.source_name or f"{manifest.experiment}.toml").name
        return parse_experiment(manifest.source, self.folder / name, manifest.profile)

    def cases(self, only: Sequence[str] = ()) -> list[Case]:
        """Return the cases that the filters let through, see `harness.experiment.selection.select`."""
        cases = [entry.case for entry in self.index.cases]
        return select(cases, only) if only else cases

    def entry(self, case: Case) -> BundledCase:
        """Return what became of a case."""
        return self._entries[case.id]

    def params_source(self, case: Case) -> ParamsSource | None:
        """Return where the settings of a case came from where it was built."""
        return self._entries[case.id].params_source

    def artifact_folder(self, key: str) -> Path:
        """Return where an artifact lies."""
        return self.folder.absolute() / ARTIFACTS / key


class BundledBuilds:
    """Answers what a `BuildPool` is asked from a bundle: nothing is built."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle

    def find_keys(
        self, records: Iterable[CaseRecord], on_start: OnStart
    ) -> Iterator[tuple[CaseRecord, WorkerFailure]]:
        """Note key and device of each case in its record; yield the cases that have none, and why."""
        for record in records:
            on_start(record.case, "plan")
            failure = self._find_key(record)
            if failure is not None:
                yield record, failure

    def build(
        self, records: Iterable[CaseRecord], on_start: OnStart
    ) -> Iterator[tuple[CaseRecord, WorkerFailure | None]]:
        """Note in its record what each case was built into; yield it with why it has no code, or None."""
        for record in records:
            on_start(record.case, "build")
            yield record, self._find_key(record) or self._find_artifact(record)

    def close(self) -> None:
        """Do nothing: there are no workers."""

    def _find_key(self, record: CaseRecord) -> WorkerFailure | None:
        entry = self._bundle.entry(record.case)
        if entry.key is None:
            return WorkerFailure(entry.status, entry.reason or "not built")
        try:
            record.key, record.device = entry.key, device_of(record.case)
        except PluginError as error:
            return WorkerFailure(Status.BUILD_FAILED, str(error))
        except HarnessError as error:
            return WorkerFailure(Status.UNSUPPORTED, str(error))
        return None

    def _find_artifact(self, record: CaseRecord) -> WorkerFailure | None:
        entry = self._bundle.entry(record.case)
        if entry.key is None or entry.status is not Status.BUILT:
            return WorkerFailure(entry.status, entry.reason or "not built")
        folder = self._bundle.artifact_folder(entry.key)
        if digest_of(folder) != entry.digest:
            reason = f"{folder}: files are missing or have changed: copy the bundle again"
            return WorkerFailure(Status.BUILD_FAILED, reason)
        try:
            artifact = read_artifact(folder, record.case)
        except (OSError, ValueError) as error:
            return WorkerFailure(Status.BUILD_FAILED, f"{folder}: {one_line(error)}")
        if entry.flops_executed is not None:
            metrics = artifact.metrics.model_copy(update={"flops_executed": entry.flops_executed})
            artifact = artifact.model_copy(update={"metrics": metrics})
        return note_answer(record, Built(artifact=artifact, folder=folder, cached=True))


def require_room(folder: Path) -> None:
    """Make a bundle's folder; raises `InputError` unless it is new or empty and can be written."""
    try:
        is_free = not exists(folder) or (folder.is_dir() and not any(folder.iterdir()))
    except OSError as error:
        raise unusable(folder, error) from error
    if not is_free:
        raise InputError(f"--bundle: {folder} exists already; expected a new or an empty folder")
    ensure_writable_folder(folder, "--bundle")


def write_bundle(folder: Path, manifest: Manifest, built: Iterable[tuple[CaseRecord, Result]]) -> Bundle:
    """Write built cases, and those that failed with what they failed of, to a folder."""
    entries, artifacts = [], []
    with refusals_told(f"--bundle: {folder}: cannot write"):
        (folder / ARTIFACTS).mkdir(parents=True, exist_ok=True)
        for record, row in built:
            digest = flops_executed = None
            if record.folder is not None and record.key is not None and record.artifact is not None:
                artifacts.append(record.artifact)
                target = folder / ARTIFACTS / record.key
                shutil.copytree(record.folder, target, dirs_exist_ok=True)
                digest = digest_of(target)
                flops_executed = record.artifact.metrics.flops_executed
            entries.append(
                BundledCase(
                    case=record.case,
                    key=record.key,
                    status=row.status,
                    reason=row.reason,
                    digest=digest,
                    params_source=row.params_source,
                    flops_executed=flops_executed,
                )
            )
        index = BundleIndex(manifest=manifest, cases=tuple(entries))
        (folder / REQUIREMENTS_FILE).write_text(requirements(artifacts), encoding="utf-8")
        (folder / BUNDLE_FILE).write_text(index.model_dump_json(indent=2) + "\n", encoding="utf-8")
    return Bundle(folder, index)


def open_bundle(folder: Path) -> Bundle:
    """Open a bundle; raises `InputError` for what is none."""
    file = folder / BUNDLE_FILE
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        expected = f"expected a folder with a {BUNDLE_FILE}, as 'harness build' writes it"
        raise InputError(f"--bundle: {folder}: {expected}: {one_line(error)}") from error
    try:
        return Bundle(folder, BundleIndex.model_validate_json(text))
    except ValidationError as error:
        raise InputError(f"{file}: not a bundle: {messages(error)[0]}") from error


def requirements(artifacts: Iterable[Artifact]) -> str:
    """Return the packages that artifacts need besides this one on a device, each pinned, one a line."""
    try:
        declared = requires(DISTRIBUTION) or []
    except PackageNotFoundError:
        declared = []
    extras, named = _needed(artifacts)
    lines = set()
    for text in declared:
        package, _, condition = (part.strip() for part in text.partition(";"))
        extra = EXTRA.fullmatch(condition)
        name = re.split(r"[^\w.-]", package, maxsplit=1)[0]
        is_wanted = extra[1] in extras if extra else not package.startswith(COMPILERS) or name in named
        if is_wanted:
            lines.add(package)
    return "\n".join([*sorted(lines), ""])


def _needed(artifacts: Iterable[Artifact]) -> tuple[set[str], set[str]]:
    """Return the extras of this package, and other packages, that artifacts need where they are timed."""
    extras, named = set[str](), set[str]()
    for artifact in artifacts:
        for loader in artifact.loaders:
            is_used = loader.executor in ("device", wanted_executor(artifact.case))
            if is_used and loader.install is not None:
                listed = re.search(r"\[(.*)\]", loader.install)
                (extras if listed else named).update(listed[1].split(",") if listed else [loader.install])
        if artifact.executor == "native":
            named |= {package for module, package in NATIVE.items() if artifact.loader.startswith(module)}
            extras |= {"baselines"} if artifact.loader.startswith(TORCH) else set()
    return extras, named


def digest_of(folder: Path) -> str:
    """Return a digest of all files in a folder, their names included; a link counts as no file."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return digest_of_values([[str(file.relative_to(folder)), file_digest(file)] for file in files])
