"""Building a baseline, calling it once, and judging its output by the oracle."""

from pathlib import Path

import numpy as np

from harness.artifact.artifact import ARTIFACT_FILE, Artifact
from harness.oracle.expected import Verdict, expect
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.problem.dtypes import numpy_dtype
from harness.problem.inputs import Inputs, make_inputs
from harness.variants.base import Variant


def build_and_run(
    variant: Variant, problem: AttentionProblem, folder: Path, target: str = "cpu", threads: int = 1
) -> tuple[Artifact, np.ndarray, Inputs]:
    """Build, write and read back artifact.json, load, call; return artifact, output and inputs."""
    case = Case(problem=problem, variant=variant.name, target=target, target_options={"threads": threads})
    folder.mkdir(exist_ok=True)
    built = variant.build(case, "key", folder)
    (folder / ARTIFACT_FILE).write_text(built.model_dump_json())
    artifact = Artifact.model_validate_json((folder / ARTIFACT_FILE).read_text())
    inputs = make_inputs(problem)
    if inputs.mask is not None:  # baselines refuse queries that see no key
        inputs.mask[..., 0] = True
    call = artifact.load(folder).bind(inputs)
    call.poison()
    call.run()
    return artifact, call.output(), inputs


def judge(variant: Variant, problem: AttentionProblem, folder: Path, target: str = "cpu") -> Verdict:
    """Return what the oracle says of a variant's output."""
    _, output, inputs = build_and_run(variant, problem, folder, target)
    assert output.dtype == numpy_dtype(problem.dtype)
    return expect(inputs, problem).check(output)
