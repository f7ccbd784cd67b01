"""What a variant's code returns from a build, checked: a plugin's mistake says which field it is in."""

from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from harness import plugins
from harness.artifact.artifact import Artifact
from harness.errors import PluginError
from harness.problem.case import Case, ParameterValue
from harness.validation import messages, plain_entries, shown
from harness.variants.base import Variant

CHOSEN: TypeAdapter[dict[str, ParameterValue]] = TypeAdapter(dict[str, ParameterValue])


def returned_artifact(variant: Variant, case: Case, returned: object, folder: Path) -> Artifact:
    """Return the artifact that a variant's `build` has returned, with what the variant chose for the case.

    Raises `PluginError` for what is no artifact, for that of another problem, for a field that no artifact
    may have, for operations that are too few, and for a stage whose file is not in the folder.
    """
    owner = f"variant {case.variant!r}: build: "
    if not isinstance(returned, Artifact):
        raise PluginError(f"{owner}found {shown(returned)}, expected an Artifact")
    try:  # a copy with changed fields was not validated
        artifact = Artifact.model_validate(returned.model_dump(warnings=False))
    except ValidationError as error:
        raise PluginError(owner + messages(error)[0]) from error
    wrong = (
        _of_another_problem(artifact, case) or _too_few_operations(artifact) or _no_files(artifact, folder)
    )
    if wrong is not None:
        raise PluginError(owner + wrong)
    return with_choices(artifact, variant)


def _of_another_problem(artifact: Artifact, case: Case) -> str | None:
    if artifact.case.problem == case.problem:
        return None
    return f"case.problem: found {artifact.case.problem.describe()}, expected that of {case.describe()}"


def _too_few_operations(artifact: Artifact) -> str | None:
    """Return why its operations are fewer than the products of all visible pairs, None where they are not.

    What a boolean mask hides is not known when code is built, and need not be computed.
    """
    executed, problem = artifact.metrics.flops_executed, artifact.case.problem
    least = problem.flops() - problem.projection_flops()
    if executed is None or executed >= least or problem.mask:
        return None
    return (
        f"metrics.flops_executed: found {executed}, expected at least {least}, the products of all visible "
        "pairs; None where it is not known"
    )


def _no_files(artifact: Artifact, folder: Path) -> str | None:
    built = {file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()}
    for stage, name in artifact.stage_files.items():
        if name not in built:
            return (
                f"stage_files.{stage}: found {shown(name)}, expected a file in the folder that was built into"
            )
    return None


def with_choices(artifact: Artifact, variant: Variant) -> Artifact:
    """Return an artifact that says what was chosen for parameters that its case leaves open."""
    with plugins.asked("variant", artifact.case.variant, "what it chooses (chosen)"):
        chosen = CHOSEN.validate_python(plain_entries(variant.chosen(artifact.case)), strict=True)
    return artifact.model_copy(update={"chosen": {**chosen, **artifact.chosen}})
