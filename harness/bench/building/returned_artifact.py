"""What a variant's code returns from a build, checked: a plugin's mistake says which field it is in."""

from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from harness import plugins
from harness.artifact.artifact import Artifact
from harness.problem.case import Case, ParameterValue
from harness.system.errors import PluginError
from harness.system.validation import messages, plain_entries, shown
from harness.variants.base import Variant

CHOSEN: TypeAdapter[dict[str, ParameterValue]] = TypeAdapter(dict[str, ParameterValue])


def returned_artifact(variant: Variant, case: Case, returned: Any, folder: Path) -> Artifact:
    """Return the artifact that a variant's `build` has returned, with what the variant chose for the case."""
    owner = f"variant {case.variant!r}: build: "
    plugins.require(case.variant, "build", returned, Artifact)
    try:  # a copy with changed fields was not validated
        artifact = Artifact.model_validate(returned.model_dump(warnings=False))
    except ValidationError as error:
        raise PluginError(owner + messages(error)[0]) from error
    problem = artifact.case.problem
    if problem != case.problem:
        raise PluginError(
            f"{owner}case.problem: found {problem.describe()}, expected that of {case.describe()}"
        )
    for stage, name in artifact.stage_files.items():
        if not (folder / name).is_file():
            expected = "expected a file in the folder that was built into"
            raise PluginError(f"{owner}stage_files.{stage}: found {shown(name)}, {expected}")
    return with_choices(artifact, variant)


def with_choices(artifact: Artifact, variant: Variant) -> Artifact:
    """Return an artifact that says what was chosen for parameters that its case leaves open."""
    with plugins.asked("variant", artifact.case.variant, "what it chooses (chosen)"):
        chosen = CHOSEN.validate_python(plain_entries(variant.chosen(artifact.case)), strict=True)
    return artifact.model_copy(update={"chosen": {**chosen, **artifact.chosen}})
