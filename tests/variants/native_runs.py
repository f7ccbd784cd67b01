"""Building, running and judging a variant on the CPU target in this process, each build once."""

import functools
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from harness import plugins
from harness.artifact.artifact import Artifact
from harness.oracle.expected import Verdict, expect
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.problem.inputs import Inputs, make_inputs
from harness.targets.cpu.chip import RegisterTile, chip
from harness.targets.cpu.executable import NativeExecutable

GENERATED = ("flash", "naive", "unfused")
"""The variants whose code this harness generates."""

Settings = tuple[tuple[str, Any], ...]


def build(
    variant: str,
    problem: AttentionProblem,
    target: str = "cpu",
    params: dict[str, Any] | None = None,
    **options: Any,
) -> tuple[Artifact, Path]:
    """Build a case, or return what an equal call built before: the artifact and its folder."""
    host = chip("host").registers
    return _build(variant, problem, target, tuple((params or {}).items()), tuple(options.items()), host)


def load(variant: str, problem: AttentionProblem, threads: int = 1, **settings: Any) -> NativeExecutable:
    """Build a case and load its code, to be run by that many threads."""
    artifact, folder = build(variant, problem, **settings)
    threaded = artifact.model_copy(update={"launch": {**artifact.launch, "threads": threads}})
    return _load(threaded.model_dump_json(), folder)


def run(variant: str, problem: AttentionProblem, inputs: Inputs, **settings: Any) -> np.ndarray:
    """Compute once, with everything that is not an input poisoned before."""
    call = load(variant, problem, **settings).bind(inputs)
    call.poison()
    call.run()
    return call.output()


def judge(variant: str, problem: AttentionProblem, distribution: str = "normal", **settings: Any) -> Verdict:
    """Compute once and compare with the oracle."""
    inputs = make_inputs(problem, distribution)
    return _expected(problem, distribution).check(run(variant, problem, inputs, **settings))


@functools.cache
def _folders() -> tempfile.TemporaryDirectory:
    return tempfile.TemporaryDirectory()


@functools.cache
def _build(
    variant: str,
    problem: AttentionProblem,
    target: str,
    params: Settings,
    options: Settings,
    _host: RegisterTile,
) -> tuple[Artifact, Path]:
    folder = Path(tempfile.mkdtemp(dir=_folders().name))
    case = Case(
        problem=problem, variant=variant, target=target, params=dict(params), target_options=dict(options)
    )
    return plugins.variant(variant).build(case, "key", folder), folder


@functools.cache
def _load(artifact: str, folder: Path) -> NativeExecutable:
    loaded = Artifact.model_validate_json(artifact).load(folder)
    assert isinstance(loaded, NativeExecutable)
    return loaded


@functools.cache
def _expected(problem: AttentionProblem, distribution: str):
    return expect(make_inputs(problem, distribution), problem)
