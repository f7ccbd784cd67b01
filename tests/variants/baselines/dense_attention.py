"""The reference of the baselines' tests: attention by definition, in float64, on whole matrices."""

from pathlib import Path

import numpy as np

from harness.artifact.artifact import ARTIFACT_FILE, Artifact
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.problem.dtypes import numpy_dtype
from harness.problem.inputs import Inputs
from harness.variants.base import Variant

TOLERANCES = {"f32": 2e-6, "f16": 3e-3, "bf16": 3e-2}
"""Loose bounds on the absolute error of outputs of size about 1: does it compute attention at all?"""


def draw_inputs(problem: AttentionProblem) -> Inputs:
    """Draw normal inputs; a boolean mask hides a fifth of the keys but never the first."""
    random = np.random.default_rng(0)
    dtype = numpy_dtype(problem.dtype)
    shapes = (problem.q_shape, problem.k_shape, problem.v_shape)
    q, k, v = (random.standard_normal(shape).astype(dtype) for shape in shapes)
    scores = (problem.batch, problem.heads, problem.seq_q, problem.seq_kv)
    mask = random.random(scores) > 0.2
    mask[..., 0] = True
    bias = random.standard_normal(scores[1:]).astype(dtype)
    return Inputs(q=q, k=k, v=v, mask=mask if problem.mask else None, bias=bias if problem.bias else None)


def dense_attention(problem: AttentionProblem, inputs: Inputs) -> np.ndarray:
    """Return the attention of a padded batch; a query without keys gives 0."""
    q, k, v = (array.astype(np.float64) for array in (inputs.q, inputs.k, inputs.v))
    k, v = (np.repeat(array, problem.group_size, axis=1) for array in (k, v))
    scores = problem.scale * (q @ np.swapaxes(k, -1, -2))
    if problem.softcap is not None:
        scores = problem.softcap * np.tanh(scores / problem.softcap)
    if inputs.bias is not None:
        scores = scores + inputs.bias.astype(np.float64)
    if inputs.mask is not None:
        scores = np.where(inputs.mask, scores, -np.inf)
    queries, keys = np.arange(problem.seq_q)[:, None], np.arange(problem.seq_kv)
    for entry, (_, length) in enumerate(problem.sequence_lengths()):
        shift = length - problem.seq_q
        hidden = np.broadcast_to(keys >= length, (problem.seq_q, problem.seq_kv)).copy()
        if problem.causal:
            hidden |= keys > queries + (shift if problem.causal_alignment == "bottom-right" else 0)
        if problem.window is not None:
            left, right = problem.window
            hidden |= False if left is None else keys < queries + shift - left
            hidden |= False if right is None else keys > queries + shift + right
        scores[entry][:, hidden] = -np.inf
    top = scores.max(axis=-1, keepdims=True)
    weights = np.exp(scores - np.where(np.isfinite(top), top, 0))
    sums = weights.sum(axis=-1, keepdims=True)
    return (weights / np.where(sums == 0, 1, sums)) @ v


def build_and_load(
    variant: Variant, problem: AttentionProblem, folder: Path, target: str = "cpu", threads: int = 1
) -> tuple[Artifact, np.ndarray, Inputs]:
    """Build, write and read back artifact.json, load, call; return artifact, output and inputs."""
    case = Case(problem=problem, variant=variant.name, target=target, target_options={"threads": threads})
    folder.mkdir(exist_ok=True)
    built = variant.build(case, "key", folder)
    (folder / ARTIFACT_FILE).write_text(built.model_dump_json())
    artifact = Artifact.model_validate_json((folder / ARTIFACT_FILE).read_text())
    inputs = draw_inputs(problem)
    call = artifact.load(folder).bind(inputs)
    call.poison()
    call.run()
    return artifact, call.output(), inputs


def assert_attention(variant: Variant, problem: AttentionProblem, folder: Path, target: str = "cpu") -> None:
    """Assert that the variant's output is the attention of the problem."""
    _, output, inputs = build_and_load(variant, problem, folder, target)
    assert output.dtype == numpy_dtype(problem.dtype)
    assert output.shape == problem.output_shape
    error = np.abs(output.astype(np.float64) - dense_attention(problem, inputs)).max()
    assert error < TOLERANCES[problem.dtype]
