"""The variant `numpy-attention`: attention in a few lines of NumPy."""

import inspect
import time
from pathlib import Path

import numpy as np
from pydantic import PositiveInt

from harness.artifact.artifact import Artifact, StaticMetrics
from harness.artifact.bound_call import BoundCall, Executable
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.problem.inputs import Inputs
from harness.variants.base import Parameters, Variant

SOURCE_FILE = "source.py"


class NumpyParameters(Parameters):
    """Parameters of `numpy-attention`."""

    block: PositiveInt = 64
    """Queries that are computed together."""


class NumpyAttention(Variant):
    """Scores, softmax and product with V for a block of queries at a time."""

    name = "numpy-attention"
    summary = "attention in a few lines of NumPy"
    parameters = NumpyParameters
    loader = "attention_example.variant:load"

    def supports(self, problem: AttentionProblem, target: str) -> str | None:
        """Return None for the plain problem on the target `numpy`, else what is missing."""
        if target != "numpy":
            return f"only for target numpy, not {target}"
        if problem.mask_name != "full" or problem.bias or problem.softcap or problem.group_size != 1:
            return "no masks, bias, softcap or grouped heads"
        return None

    def source(self, case: Case) -> str:
        """Return what the result depends on: here the text of the function that computes it."""
        return inspect.getsource(attention_block)

    def tool_versions(self) -> dict[str, str]:
        """Return the version of NumPy."""
        return {"numpy": np.__version__}

    def build(self, case: Case, key: str, folder: Path) -> Artifact:
        """Write the source; real variants compile here."""
        start = time.perf_counter()
        (folder / SOURCE_FILE).write_text(self.source(case))
        return Artifact(
            case=case,
            key=key,
            executor="native",
            loader=self.loader,
            metrics=StaticMetrics(flops_executed=case.problem.flops()),
            stage_seconds={"source": time.perf_counter() - start},
            stage_files={"source": SOURCE_FILE},
        )


class NumpyCall(BoundCall):
    """A call with its inputs and its output."""

    def __init__(self, problem: AttentionProblem, inputs: Inputs, block: int) -> None:
        self.problem = problem
        self.inputs = inputs
        self.block = block
        self.result = np.empty(problem.output_shape, inputs.q.dtype)

    def poison(self) -> None:
        """Fill the output with NaN."""
        self.result.fill(np.nan)

    def take_inputs(self, inputs: Inputs) -> bool:
        """Compute with other inputs from now on: the harness changes them between timing samples."""
        self.inputs = inputs
        return True

    def run(self) -> None:
        """Compute block by block."""
        for start in range(0, self.problem.seq_q, self.block):
            self.run_block(slice(start, start + self.block))

    def run_block(self, rows: slice) -> None:
        """Compute some rows of the output."""
        inputs = self.inputs
        self.result[:, :, rows] = attention_block(
            inputs.q[:, :, rows], inputs.k, inputs.v, self.problem.scale
        )

    def output(self) -> np.ndarray:
        """Return the output of the last run."""
        return self.result


class NumpyExecutable(Executable):
    """Ready at once: there is no code to load."""

    call: type[NumpyCall] = NumpyCall

    def __init__(self, artifact: Artifact) -> None:
        self.case = artifact.case

    def bind(self, inputs: Inputs) -> NumpyCall:
        """Allocate the output."""
        block = NumpyParameters.model_validate(self.case.params).block
        return self.call(self.case.problem, inputs, block)


def attention_block(q: np.ndarray, k: np.ndarray, v: np.ndarray, scale: float) -> np.ndarray:
    """Return attention of q [batch, heads, rows, head_dim], computed in float32."""
    q, k, v = (array.astype(np.float32) for array in (q, k, v))
    scores = scale * (q @ k.swapaxes(-1, -2))
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return (weights @ v) / weights.sum(axis=-1, keepdims=True)


def load(artifact: Artifact, folder: Path) -> NumpyExecutable:
    """Load a built artifact; the harness calls this by the name in `Artifact.loader`."""
    return NumpyExecutable(artifact)
