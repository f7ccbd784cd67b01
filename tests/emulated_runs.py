"""Kernels for GPUs, built in this process and computed on the emulator; the oracle judges their output."""

import functools
import tempfile
from pathlib import Path

import numpy as np

from harness import plugins
from harness.artifact.artifact import Artifact
from harness.oracle.expected import expect
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case, ParameterValue
from harness.problem.inputs import make_inputs

SEED = 3


def build(
    problem: AttentionProblem,
    folder: Path,
    variant: str = "flash",
    chip: str = "sm_80",
    params: dict[str, ParameterValue] | None = None,
    **options: ParameterValue,
) -> Artifact:
    """Build a case for NVIDIA's GPUs that the variant supports into a folder; `options` are the target's."""
    target = f"cuda:{chip}"
    assert plugins.variant(variant).supports(problem, target) is None
    folder.mkdir(exist_ok=True)
    case = Case(problem=problem, variant=variant, target=target, params=params or {}, target_options=options)
    return plugins.variant(variant).build(case, "key", folder)


def built(
    problem: AttentionProblem,
    target: str,
    variant: str = "flash",
    options: dict[str, ParameterValue] | None = None,
    **params: ParameterValue,
) -> tuple[Artifact, Path]:
    """Build a case for any target, or return what an equal call built before: the artifact and its folder."""
    case = Case(problem=problem, variant=variant, target=target, params=params, target_options=options or {})
    return _built(case.model_dump_json())


@functools.cache
def _built(case_text: str) -> tuple[Artifact, Path]:
    case, folder = Case.model_validate_json(case_text), Path(tempfile.mkdtemp(dir=_folders().name))
    assert plugins.variant(case.variant).supports(case.problem, case.target) is None
    return plugins.variant(case.variant).build(case, "key", folder), folder


@functools.cache
def _folders() -> tempfile.TemporaryDirectory:
    return tempfile.TemporaryDirectory()


def text(artifact: Artifact, folder: Path, stage: str) -> str:
    """Return the output of a stage."""
    return (folder / artifact.stage_files[stage]).read_text()


def output(artifact: Artifact, folder: Path, distribution: str = "normal") -> np.ndarray:
    """Compute once, with everything that is not an input poisoned before; what the checks find is raised."""
    return outputs(artifact, folder, distribution)["output"]


def outputs(artifact: Artifact, folder: Path, distribution: str = "normal") -> dict[str, np.ndarray]:
    """Compute once, likewise, and return all outputs."""
    call = artifact.load(folder).bind(make_inputs(artifact.case.problem, distribution, SEED))
    call.poison()
    call.run()
    return call.outputs()


def assert_right(artifact: Artifact, folder: Path, distribution: str = "normal") -> None:
    """Compute once and compare with the oracle."""
    problem = artifact.case.problem
    expected = expect(make_inputs(problem, distribution, SEED), problem)
    verdict = expected.check_outputs(outputs(artifact, folder, distribution))
    assert verdict.ok, verdict


def assert_right_on_emulator(artifact: Artifact, folder: Path) -> None:
    """Compute once, on the emulator and nowhere else, and compare with the oracle."""
    assert (artifact.executor, artifact.why_not_run) == ("emulator", None)
    assert_right(artifact, folder)
