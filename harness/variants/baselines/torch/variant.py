"""The PyTorch baselines: `torch` (its fused attention) and `torch-unfused` (three library calls).

PyTorch is the optional extra `baselines`: without it both variants are unsupported, and nothing else changes.
There is no code to generate: a build keeps the text of `calls`, which also `device` calls on a GPU.
"""

from pathlib import Path
from typing import Annotated, Any, Literal

from harness.artifact.artifact import Loader, StaticMetrics
from harness.experiment.searched import Searched
from harness.plugins import name_of
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.problem.dtypes import itemsize
from harness.system.errors import UnsupportedError
from harness.targets.executors import run_here
from harness.targets.gpu.target import chip_for
from harness.variants.base import Parameters
from harness.variants.baselines.library import LibraryVariant
from harness.variants.baselines.masks import lacks
from harness.variants.baselines.torch.vendors import VENDORS

CALLS = Path(__file__).with_name("calls.py")


class TorchParameters(Parameters):
    """Parameters of PyTorch's fused attention."""

    backend: Annotated[Literal["flash", "cudnn", "efficient", "overrideable", "math"] | None, Searched()] = (
        None
    )
    """Which of PyTorch's implementations, on a GPU; by default PyTorch chooses.  `overrideable` is
    oneDNN's, which Intel's GPUs have."""


class TorchVariant(LibraryVariant):
    """What both PyTorch baselines share."""

    library = "PyTorch"
    extra = "baselines"
    packages = ("torch",)
    targets = ("cpu", *VENDORS)
    calls = CALLS

    def run_by(self, case: Case) -> dict[str, Any]:
        """Return an artifact's fields on what runs it."""
        if name_of(case.target) in VENDORS:
            return self._on_device(case)
        if case.params.get("backend") is not None:
            raise UnsupportedError(f"backend {case.params['backend']}: chosen on GPUs only, not for cpu")
        return super().run_by(case)

    def _on_device(self, case: Case) -> dict[str, Any]:
        """Return them for the machine's GPU."""
        vendor = VENDORS[name_of(case.target)]
        loader = Loader(
            executor="device",
            function=f"harness.variants.baselines.torch.device:{self.loader.partition(':')[2]}",
            packages=("torch", *vendor.packages),
            install=vendor.install,
        )
        return {"launch": {"chip": chip_for(case)}, **run_here([loader], case)}


class Torch(TorchVariant):
    """PyTorch's `scaled_dot_product_attention`, which picks a fused CPU kernel where it has one.

    Square causal problems pass `is_causal`, with which the kernel skips hidden keys.  PyTorch aligns that
    flag top-left, so bottom-right causal with seq_q ≠ seq_kv goes in as a boolean mask, as all other masks.
    Packed sequences are one call each; projections are three matrix products before the call.
    """

    name = "torch"
    summary = "PyTorch scaled_dot_product_attention"
    parameters = TorchParameters
    loader = "harness.variants.baselines.torch.calls:load_fused"

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
    loader = "harness.variants.baselines.torch.calls:load_unfused"

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
