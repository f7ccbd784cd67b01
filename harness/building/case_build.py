"""Building a case: its content key, the artifact cache, and the artifact's folder.

`find_key` and `build_case` run in a worker process; `build` is what the Python API calls from any process.
"""

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from harness import plugins
from harness.artifact.artifact import ARTIFACT_FILE, Artifact
from harness.artifact.cache import ArtifactCache
from harness.digest import code_digest, digest, package_of
from harness.errors import BuildError, HarnessError, InputError, StorageError, UnsupportedError
from harness.problem.case import Case, ParameterValue
from harness.status import Status
from harness.targets.base import Target, TargetOptions
from harness.targets.executors import chosen_here
from harness.validation import messages
from harness.variants.base import Variant
from harness.workers.process import WorkerFailure, WorkerProcess
from harness.workers.protocol import BuildRequest, Built, KeyFound

DEFAULT_BUILD_TIMEOUT_S = 600.0

Model = TypeVar("Model", bound=BaseModel)


def find_key(case: Case) -> KeyFound:
    """Return the content key of what building this case gives, and the device it is for.

    The key changes with the source IR, the case, the versions of the tools, the code of this package and of
    the plugins, and the device, and with nothing else.  Raises `UnsupportedError` with the variant's
    reason, or `InputError`.
    """
    variant = _variant(case.variant)
    target = _target(case.target)
    check_chip(case.target)
    _validated(variant.parameters, case.params, f"variant {case.variant!r}")
    _validated(target.options, case.target_options, f"target {case.target!r}")
    reason = variant.supports(case.problem, case.target)
    if reason is not None:
        raise UnsupportedError(reason)
    device = target.device(case.target.partition(":")[2] or None)
    packages = {"harness", package_of(variant), package_of(target)}
    key = digest(
        {
            "source": variant.source(case),
            "case": case.model_dump(mode="json"),
            "tools": target.tool_versions() | variant.tool_versions(),
            "code": {package: code_digest(package) for package in packages},
            "device": device,
        }
    )
    return KeyFound(key=key, device=device)


def build_case(case: Case, cache: ArtifactCache, known_key: str | None = None) -> Built:
    """Build a case into the cache, or find it there; `known_key` saves computing its key again.

    Raises `UnsupportedError`, `BuildError` or `InputError`; a compiler may also end the process.
    """
    key = known_key or find_key(case).key
    folder = cache.find(key)
    cached = folder is not None
    if folder is None:
        variant = _variant(case.variant)

        def build_into(empty: Path) -> None:
            artifact = variant.build(case, key, empty)
            (empty / ARTIFACT_FILE).write_text(artifact.model_dump_json(indent=2))

        folder = cache.store(key, build_into)
    return Built(artifact=read_artifact(folder), folder=folder, cached=cached)


def read_artifact(folder: Path) -> Artifact:
    """Return the artifact in a folder, with what runs it on this machine as it is now."""
    return chosen_here(Artifact.model_validate_json((folder / ARTIFACT_FILE).read_text()))


def build(
    case: Case,
    *,
    cache_root: Path | None = None,
    timeout_s: float = DEFAULT_BUILD_TIMEOUT_S,
    memory_gb: float | None = None,
) -> tuple[Artifact, Path]:
    """Build a case in a worker process and return its artifact and the folder that holds it.

    The folder lies in the artifact cache (`cache_root`, by default the user's) and is shared: do not write
    there.  Raises `InputError` for a bad parameter, `UnsupportedError` with the variant's reason, and
    `BuildError` when the compiler refuses, crashes, runs out of memory or takes longer than `timeout_s`.
    """
    plugins.check_name("variant", case.variant)
    plugins.check_name("target", case.target.partition(":")[0])
    with WorkerProcess(memory_gb=memory_gb) as worker:
        try:
            built = worker.request(BuildRequest(case=case, cache_root=cache_root), timeout_s, Built)
        except WorkerFailure as failure:
            raise _as_error(case, failure) from failure
    return built.artifact, built.folder


def check_chip(target: str) -> None:
    """Raise `InputError` if a target's name has a chip that the target does not know."""
    _, colon, chip = target.partition(":")
    chips = _target(target).chips()
    if colon and chip not in chips:
        raise InputError(f"target {target!r}: unknown chip {chip!r}; expected one of {', '.join(chips)}")


def target_options(target: str, values: dict[str, ParameterValue]) -> TargetOptions:
    """Return a target's options, checked; raises `InputError` naming the option that is wrong."""
    return _validated(_target(target).options, values, f"target {target!r}")


def _as_error(case: Case, failure: WorkerFailure) -> HarnessError:
    if failure.no_room:
        return StorageError(failure.reason)
    if failure.bad_input:
        return InputError(failure.reason)
    if failure.status is Status.UNSUPPORTED:
        return UnsupportedError(f"{case.variant} on {case.target}: {failure.reason}")
    if failure.status is Status.BUILD_FAILED:
        return BuildError(failure.reason)
    return BuildError(f"building {case.describe()}: {failure.status}: {failure.reason}")


def _variant(name: str) -> Variant:
    try:
        return plugins.variant(name)
    except InputError:
        raise
    except HarnessError as error:
        raise UnsupportedError(str(error)) from error


def _target(name: str) -> Target:
    try:
        return plugins.target(name)
    except InputError:
        raise
    except HarnessError as error:
        raise UnsupportedError(str(error)) from error


def _validated(model: type[Model], values: dict[str, ParameterValue], owner: str) -> Model:
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise InputError(f"{owner}: {'; '.join(messages(error, model))}") from error
