"""The PyTorch baselines: `torch` (its fused attention) and `torch-unfused` (three library calls).

PyTorch is the optional extra `baselines`: without it both variants are unsupported, and nothing else changes.
There is no code to generate: a build keeps the text of `calls`, which also `device` calls on a GPU.
"""

import importlib.util
from abc import abstractmethod
from pathlib import Path
from typing import Any, ClassVar, Literal

from harness.artifact.artifact import Artifact, Loader, StaticMetrics
from harness.plugins import chip_of, name_of
from harness.problem.attention_problem import AttentionProblem
from harness.problem.capacity import of_capacity
from harness.problem.case import Case
from harness.problem.dtypes import itemsize
from harness.system.errors import UnsupportedError
from harness.targets.executors import choose
from harness.targets.gpu.target import chip_for
from harness.variants.base import Parameters, Variant
from harness.variants.baselines.masks import lacks
from harness.variants.baselines.torch.vendors import VENDORS

MISSING = "install attention-harness[baselines]"

SOURCE_FILE = "calls.py"

CHIPS = ("", "host")


class TorchParameters(Parameters):
    """Parameters of PyTorch's fused attention."""

    backend: Literal["flash", "cudnn", "efficient", "overrideable", "math"] | None = None
    """Which of PyTorch's implementations, on a GPU; by default PyTorch chooses.  `overrideable` is
    oneDNN's, which Intel's GPUs have."""


class TorchVariant(Variant):
    """What both PyTorch baselines share."""

    is_baseline = True
    packages = ("torch",)
    loader: ClassVar[str]
    """Name of the function that loads it, in `calls` and in `device`."""

    def supports(self, problem: AttentionProblem, target: str) -> str | None:
        """Return None, or why PyTorch cannot compute this problem; does not import PyTorch."""
        name, chip = name_of(target), chip_of(target) or ""
        if name not in ("cpu", *VENDORS):
            return f"PyTorch runs on the targets cpu, {', '.join(VENDORS)} here, not on {name}"
        if name == "cpu" and chip not in CHIPS:
            return f"PyTorch chooses its instruction set itself, {chip} cannot be asked for; use cpu"
        if importlib.util.find_spec("torch") is None:
            return MISSING
        return self.refuses(problem)

    @abstractmethod
    def refuses(self, problem: AttentionProblem) -> str | None:
        """Return the reason particular to this baseline, or None."""

    def metrics(self, problem: AttentionProblem) -> StaticMetrics:
        """Return what is known without running."""
        return StaticMetrics()

    def of_capacity(self, case: Case) -> Case:
        """Return the case for all of its capacity: calls are made of the lengths that they are given."""
        return case.model_copy(update={"problem": of_capacity(case.problem)})

    def source(self, case: Case) -> str:
        """Return the code that makes the calls; the problem's masks and sizes are in the case."""
        return Path(__file__).with_name(SOURCE_FILE).read_text(encoding="utf-8")

    def build(self, case: Case, key: str, folder: Path) -> Artifact:
        """Keep the calls; PyTorch holds the code."""
        (folder / SOURCE_FILE).write_text(self.source(case), encoding="utf-8")
        return Artifact(
            case=case,
            key=key,
            metrics=self.metrics(case.problem),
            stage_seconds={"source": 0.0},
            stage_files={"source": SOURCE_FILE},
            **(self._on_device(case) if name_of(case.target) in VENDORS else self._on_processor(case)),
        )

    def _on_processor(self, case: Case) -> dict[str, Any]:
        """Return an artifact's fields on running it on the CPU."""
        if case.params.get("backend") is not None:
            raise UnsupportedError(f"backend {case.params['backend']}: chosen on GPUs only, not for cpu")
        return {
            "executor": "native",
            "loader": f"harness.variants.baselines.torch.calls:{self.loader}",
            "launch": {"threads": case.target_options.get("threads", 1)},
        }

    def _on_device(self, case: Case) -> dict[str, Any]:
        """Return them for the machine's GPU."""
        vendor = VENDORS[name_of(case.target)]
        loader = Loader(
            executor="device",
            function=f"harness.variants.baselines.torch.device:{self.loader}",
            packages=("torch", *vendor.packages),
            install=vendor.install,
        )
        choice = choose([loader], case)
        return {
            "executor": choice.executor,
            "loader": choice.function,
            "loaders": (loader,),
            "launch": {"chip": chip_for(case)},
            "why_not_run": choice.why_not,
        }


class Torch(TorchVariant):
    """PyTorch's `scaled_dot_product_attention`, which picks a fused CPU kernel where it has one.

    Square causal problems pass `is_causal`, with which the kernel skips hidden keys.  PyTorch aligns that
    flag top-left, so bottom-right causal with seq_q ≠ seq_kv goes in as a boolean mask, as all other masks.
    Packed sequences are one call each; projections are three matrix products before the call.
    """

    name = "torch"
    summary = "PyTorch scaled_dot_product_attention"
    parameters = TorchParameters
    loader = "load_fused"

    def refuses(self, problem: AttentionProblem) -> str | None:
        """Return why `scaled_dot_product_attention` cannot compute the problem."""
        return lacks(problem, "softcap", "sinks", "log_sum_exp")


class TorchUnfused(TorchVariant):
    """Attention as three PyTorch calls with the score matrix in memory, into buffers that are kept.

    Scores and probabilities have the problem's dtype, as a user's three lines of PyTorch would have.
    Query heads that share a key head are extra rows of one matrix product, so K and V are not repeated.
    """

    name = "torch-unfused"
    summary = "PyTorch bmm, softmax, bmm with the score matrix in memory (buffers reused)"
    loader = "load_unfused"

    def refuses(self, problem: AttentionProblem) -> str | None:
        """Return why the three calls cannot compute the problem."""
        if problem.queries_without_keys():
            return "torch.softmax gives NaN for a query that sees no key"
        return lacks(problem, "cu_seqlens_q", "model_width", "sinks", "log_sum_exp")

    def of_capacity(self, case: Case) -> Case:
        """Return the case for all of its capacity, itself where its lengths are why it is not supported."""
        return case if case.problem.queries_without_keys() else super().of_capacity(case)

    def metrics(self, problem: AttentionProblem) -> StaticMetrics:
        """Return the size of the scores and probabilities, and the products including hidden pairs."""
        pairs = problem.batch * problem.heads * problem.seq_q * problem.seq_kv
        return StaticMetrics(
            workspace_bytes=2 * pairs * itemsize(problem.dtype),
            flops_executed=2 * pairs * (problem.head_dim + problem.head_dim_v),
        )


def uses_causal_flag(problem: AttentionProblem) -> bool:
    """Return whether `is_causal` (aligned top-left, no other mask) says exactly what the problem masks.

    With the flag and a negative scale PyTorch is wrong: what it masks is not what has the least score.
    """
    aligned = problem.causal_alignment == "top-left" or problem.seq_q == problem.seq_kv
    others = problem.window or problem.mask or problem.bias or problem.kv_lengths
    return problem.causal and aligned and problem.scale >= 0 and not others
