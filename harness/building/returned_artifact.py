"""What a variant's code returns from a build, checked: a plugin's mistake says which field it is in."""

import re
from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from harness.artifact.artifact import Artifact
from harness.errors import PluginError
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case, ParameterValue
from harness.validation import messages, plain, shown
from harness.variants.base import Variant

LOADER = re.compile(r"[\w.]+:[\w.]+")


def returned_artifact(variant: Variant, case: Case, found: object, folder: Path) -> Artifact:
    """Return the artifact that a variant's `build` has returned, with what the variant chose for the case.

    Raises `PluginError` for what is no artifact, for that of another problem, for a field that no artifact
    may have, for operations that are too few, and for a stage whose file is not in the folder.
    """
    owner = f"variant {case.variant!r}"
    if not isinstance(found, Artifact):
        raise PluginError(f"{owner}: build: found {_named(found)}, expected an Artifact")
    problem = getattr(found.case, "problem", None)
    if problem != case.problem:
        other = problem.describe() if isinstance(problem, AttentionProblem) else shown(problem)
        raise PluginError(f"{owner}: build: case.problem: found {other}, expected that of {case.describe()}")
    artifact = _validated(with_choices(found, variant), f"{owner}: build: ")
    _require_possible_operations(artifact, owner)
    for place, function in _loaders(artifact):
        if not LOADER.fullmatch(function):
            raise PluginError(f"{owner}: build: {place}: found {shown(function)}, expected module:function")
    for stage, name in artifact.stage_files.items():
        expected = _expected_of_file(folder, name)
        if expected is not None:
            raise PluginError(
                f"{owner}: build: stage_files.{stage}: found {shown(name)}, expected {expected}"
            )
    return artifact


def _require_possible_operations(artifact: Artifact, owner: str) -> None:
    """Raise `PluginError` for fewer operations than the products of all visible pairs are.

    What a boolean mask hides is not known when code is built, and need not be computed.
    """
    executed, problem = artifact.metrics.flops_executed, artifact.case.problem
    least = problem.flops() - problem.projection_flops()
    if executed is not None and executed < least and not problem.mask:
        raise PluginError(
            f"{owner}: build: metrics.flops_executed: found {executed}, expected at least {least}, the "
            "products of all visible pairs; None where it is not known"
        )


def with_choices(artifact: Artifact, variant: Variant) -> Artifact:
    """Return an artifact that says what was chosen for parameters that its case leaves open."""
    return artifact.model_copy(update={"chosen": {**_chosen(variant, artifact.case), **artifact.chosen}})


def _chosen(variant: Variant, case: Case) -> dict[str, ParameterValue]:
    """Return what a variant chooses, NumPy's numbers as Python's."""
    owner, found = f"variant {case.variant!r}: chosen", variant.chosen(case)
    if not isinstance(found, Mapping):
        raise PluginError(f"{owner}: found {_named(found)}, expected values by the names of parameters")
    chosen: dict[str, ParameterValue] = {}
    for name, given in found.items():
        value = plain(given)
        if not isinstance(name, str) or not isinstance(value, ParameterValue):
            expected = "expected a number, a truth value or a text"
            raise PluginError(f"{owner}: {name}: found {shown(given)}, {expected}")
        chosen[name] = value
    return chosen


def _validated(artifact: Artifact, owner: str) -> Artifact:
    """Return an artifact that holds what its fields allow, also where it was made without validation."""
    try:
        return Artifact.model_validate(artifact.model_dump(warnings=False))
    except ValidationError as error:
        raise PluginError(owner + messages(error, Artifact)[0]) from error


def _loaders(artifact: Artifact) -> list[tuple[str, str]]:
    """Return where an artifact names a function that loads it, and what it says there."""
    own = [] if artifact.executor == "none" else [("loader", artifact.loader)]
    others = enumerate(artifact.loaders)
    return own + [(f"loaders.{number}.function", loader.function) for number, loader in others]


def _expected_of_file(folder: Path, name: str) -> str | None:
    """Return what the file of a stage should be, or None where it is that."""
    try:
        file = (folder / name).resolve()
        if not file.is_relative_to(folder.resolve()):
            return "a file in the folder that was built into"
        return None if file.is_file() else "a file that is there when the build ends"
    except (OSError, ValueError, RuntimeError):  # no system has such a path
        return "a file in the folder that was built into"


def _named(found: object) -> str:
    return "None" if found is None else f"a {type(found).__name__}"
