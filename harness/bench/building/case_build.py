"""Building a case: its content key, the artifact cache, and the artifact's folder."""

import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from harness import plugins
from harness.artifact.artifact import ARTIFACT_FILE, Artifact
from harness.artifact.cache import ArtifactCache
from harness.artifact.code_digests import OWN_PACKAGE, code_digests, code_of_plugin
from harness.artifact.reached_stages import reached_stages, stages_left_in
from harness.bench.building.returned_artifact import returned_artifact
from harness.bench.workers.process import WorkerFailure, WorkerProcess, scratch_folder
from harness.bench.workers.protocol import Built, KeyFound, Life
from harness.experiment.case_settings import checked, concrete
from harness.problem.case import Case, ParameterValue
from harness.system.digest import digest
from harness.system.errors import (
    BuildError,
    HarnessError,
    InputError,
    PluginError,
    StorageError,
    UnsupportedError,
)
from harness.system.printable import printable
from harness.system.status import Status
from harness.system.storage.streams import tell
from harness.system.validation import shown
from harness.targets.answers import device_of
from harness.targets.base import TargetOptions
from harness.targets.executors import chosen_here

DEFAULT_BUILD_TIMEOUT_S = 600.0
PATIENCE_S = 8.0
"""How long a build may take without a word."""


def key_request(life: Life, case: Case) -> KeyFound:
    """Find a case's content key in a worker."""
    return find_key(case)


def build_request(
    life: Life,
    case: Case,
    key: str | None = None,
    cache_root: Path | None = None,
    stages: Path | None = None,
) -> Built:
    """Build a case in a worker, or find it in the cache; each stage's output is left in `stages` at once."""
    with reached_stages.left_in(stages):
        return build_case(case, ArtifactCache(cache_root), key)


def find_key(case: Case) -> KeyFound:
    """Return the content key of what building this case gives, and the device it is for.

    The key changes with the source IR, the case but for lengths that are data of a call, the versions of the
    tools, the code of this package and of the plugins (`harness.artifact.code_digests`), and the device, and
    with nothing else.  Raises `UnsupportedError` with the reason of the variant, `PluginError` or
    `InputError`.
    """
    plugins.check_name("variant", case.variant)
    plugins.check_name("target", plugins.name_of(case.target))
    variant = plugins.variant(case.variant)
    plugins.check_target(case.target)
    concrete(checked("variant", case.variant, case.params, f"variant {case.variant!r}: "))
    concrete(target_options(case.target, case.target_options))
    require_supported(case)
    target_name = plugins.name_of(case.target)
    capacity = capacity_of(case)
    device = device_of(case)
    code = code_digests([OWN_PACKAGE])
    code |= code_of_plugin("variant", case.variant) | code_of_plugin("target", target_name)
    source = variant.source(capacity)
    plugins.require(case.variant, "source", source, str)
    key = digest(
        {
            "source": source,
            "case": capacity.model_dump(mode="json"),
            "tools": _tool_versions("target", target_name) | _tool_versions("variant", case.variant),
            "code": code,
            "device": device,
        }
    )
    return KeyFound(key=key, device=device, code=code)


def _tool_versions(kind: str, name: str) -> dict[str, str]:
    with plugins.asked(kind, name, "what it uses (tool_versions)"):
        versions = plugins.load(kind, name).tool_versions()
        if not isinstance(versions, dict):
            raise TypeError(f"found {shown(versions)}, expected names and versions")
        return versions


def require_supported(case: Case) -> None:
    """Raise `UnsupportedError` with the reason if a case's variant does not support problem and target."""
    with plugins.asked("variant", case.variant, "what it supports (supports)"):
        reason = plugins.variant(case.variant).supports(case.problem, case.target)
    if reason is None:
        return
    if not isinstance(reason, str) or not reason.strip():
        raise PluginError(
            f"variant {case.variant!r}: supports: found {shown(reason)}, expected None or a reason in words"
        )
    raise UnsupportedError(reason)


def build_case(case: Case, cache: ArtifactCache, known_key: str | None = None) -> Built:
    """Build what serves a case into the cache, or find it there; `known_key` saves finding its key again."""
    key = known_key or find_key(case).key
    folder, capacity = cache.find(key), capacity_of(case)
    cached = folder is not None
    variant = plugins.variant(case.variant)
    if folder is None:

        def build_into(empty: Path) -> None:
            artifact = returned_artifact(variant, capacity, variant.build(capacity, key, empty), empty)
            (empty / ARTIFACT_FILE).write_text(artifact.model_dump_json(indent=2))

        folder = cache.store(key, build_into)
    artifact = read_artifact(folder, case)
    if capacity != case:
        with plugins.asked("variant", case.variant, "what its code executes (counted)"):
            artifact = variant.counted(artifact, folder)
    return Built(artifact=artifact, folder=folder, cached=cached)


def capacity_of(case: Case) -> Case:
    """Return the case that is built for this one, see `Variant.of_capacity`."""
    with plugins.asked("variant", case.variant, "which lengths are data (of_capacity)"):
        capacity = plugins.variant(case.variant).of_capacity(case)
        if not isinstance(capacity, Case):
            raise TypeError(f"found {shown(capacity)}, expected a Case")
        return capacity


def read_artifact(folder: Path, case: Case) -> Artifact:
    """Return the artifact in a folder as that of a case, with what runs it on this machine as it is now."""
    stored = Artifact.model_validate_json((folder / ARTIFACT_FILE).read_text("utf-8"))
    return chosen_here(stored.of_case(case))


def build(
    case: Case,
    *,
    cache_root: Path | None = None,
    timeout_s: float = DEFAULT_BUILD_TIMEOUT_S,
) -> tuple[Artifact, Path]:
    """Build a case in a worker process and return its artifact and the folder that holds it.

    The folder is shared: do not write there.  Raises `InputError`, `UnsupportedError`, or `BuildError` with
    the `stages` that were reached.
    """
    plugins.check_name("variant", case.variant)
    plugins.check_target(case.target)
    with scratch_folder() as stages, WorkerProcess() as worker:
        root = cache_root and cache_root.absolute()
        request = partial(build_request, case=case, cache_root=root, stages=stages)
        slow = tell_if_slow(case, "build", timeout_s, lambda line: tell(f"harness: {printable(line)}"))
        try:
            built = worker.request(request, timeout_s)
        except WorkerFailure as failure:
            error = _as_error(case, failure)
            error.stages = stages_left_in(stages)
            raise error from failure
        finally:
            slow.cancel()
    return built.artifact, built.folder


def tell_if_slow(case: Case, phase: str, limit_s: float, tell: Callable[[str], object]) -> threading.Timer:
    """Tell of a build that goes on, unless whoever has seen its end cancels what is returned."""
    line = f"{phase}: {case.describe()}, since {time.strftime('%H:%M:%S')}, for at most {limit_s:g} s"
    timer = threading.Timer(PATIENCE_S, tell, [line])
    timer.daemon = True
    timer.start()
    return timer


def target_options(target: str, values: dict[str, ParameterValue]) -> TargetOptions:
    """Return a target's options, checked; raises `InputError` naming the option that is wrong."""
    name = plugins.name_of(target)
    options: TargetOptions = checked("target", name, values, f"target {name!r}: ")
    return options


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
