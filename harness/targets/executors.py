"""What runs an artifact's code on this machine: the first of its loaders that can, or the one asked for."""

import importlib.util
from collections.abc import Sequence
from typing import Any

from harness import plugins
from harness.artifact.artifact import Artifact, ExecutorName, Loader
from harness.artifact.binary import installed_version
from harness.problem.case import Case

OPTION = "executor"
"""A target's option by which a case asks for one executor."""


def run_here(loaders: Sequence[Loader], case: Case, further_reason: str | None = None) -> dict[str, Any]:
    """Return an artifact's fields on what runs it: the first loader that works on this machine.

    It is one of all, or of those that the case asks for.  Where none works, the reason is theirs and a
    further one.
    """
    reasons = []
    wanted = wanted_executor(case)
    for loader in loaders:
        if wanted not in (None, loader.executor):
            continue
        reason = refusal(loader, case.target)
        if reason is None:
            runs = {"executor": loader.executor, "loader": loader.function, "why_not_run": None}
            return {"loaders": tuple(loaders), **runs}
        reasons.append(reason)
    if wanted is not None and not reasons:
        reasons = [f"nothing runs this code by the executor {wanted}"]
    why_not = "; ".join(filter(None, (*reasons, further_reason)))
    return {"loaders": tuple(loaders), "executor": "none", "loader": "", "why_not_run": why_not}


def wanted_executor(case: Case) -> str | None:
    """Return the executor that a case asks for by an option of its target; None: whatever works."""
    wanted = case.target_options.get(OPTION)
    return None if wanted is None else str(wanted)


def refusal(loader: Loader, target: str) -> str | None:
    """Return None, or why a loader does not work on this machine."""
    reason = _missing_machine(loader.executor, target)
    needed = (*loader.packages, *loader.distributions)
    is_complete = all(map(is_installed, loader.packages)) and all(
        map(installed_version, loader.distributions)
    )
    if reason is None and not is_complete:
        reason = f"for the executor {loader.executor}: install {loader.install or ' '.join(needed)}"
    return reason


def chosen_here(artifact: Artifact) -> Artifact:
    """Return an artifact from another machine as this one runs it."""
    if not artifact.loaders or artifact.refusal is not None:
        return artifact
    fields = run_here(artifact.loaders, artifact.case)
    if fields["executor"] == artifact.executor == "none":
        return artifact  # whose reason may say more, such as what the emulator refuses
    return artifact.model_copy(update=fields)


def with_executor(artifact: Artifact, executor: str) -> Artifact:
    """Return an artifact that one of its loaders runs, by the name of the executor.

    Raises `InputError` with what runs it here, and why not the one that is asked for.
    """
    from harness.system.errors import InputError

    if executor == artifact.executor:
        return artifact
    target = artifact.case.target
    by_name = {loader.executor: loader for loader in artifact.loaders}
    if executor not in by_name:
        names = " or ".join(repr(str(name)) for name in by_name or [artifact.executor])
        raise InputError(f"executor: found {executor!r}, expected {names} for target {target!r}")
    reason = refusal(by_name[executor], target)
    if reason is not None:
        raise InputError(f"executor: {executor!r} cannot run target {target!r} here: {reason}")
    return artifact.model_copy(update={"executor": executor, "loader": by_name[executor].function})


def _missing_machine(executor: ExecutorName, target: str) -> str | None:
    if executor == "device":
        return plugins.target(target).why_no_device(plugins.chip_of(target))
    if executor == "emulator":
        from harness.emulator.native_library import MISSING, compiler

        return f"for the emulator: {MISSING}" if compiler() is None else None
    return None


def is_installed(package: str) -> bool:
    """Return whether a package can be imported, without importing more of it than what it is in."""
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:  # not even the package that it is in
        return False
