"""The PyTorch baselines: `torch` (its fused attention) and `torch-unfused` (three library calls).

PyTorch is the optional extra `baselines`: without it both variants are unsupported, and nothing else changes.
There is no code to generate, so a build writes down which calls will be made with which arguments; `calls`
makes them, and `device` on a GPU.
"""

import importlib.metadata
import importlib.util
from abc import abstractmethod
from pathlib import Path
from typing import Any, ClassVar, Literal

from harness.artifact.artifact import Artifact, Loader, StaticMetrics
from harness.plugins import chip_of, name_of
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.problem.dtypes import itemsize
from harness.system.errors import UnsupportedError
from harness.targets.cuda import CudaTarget
from harness.targets.cuda import device as device_executor
from harness.targets.executors import choose
from harness.variants.base import Parameters, Variant
from harness.variants.baselines.masks import mask_shape

MISSING = "install attention-harness[baselines]"

SOURCE_FILE = "calls.py"

CHIPS = ("", "host")


class TorchParameters(Parameters):
    """Parameters of PyTorch's fused attention."""

    backend: Literal["flash", "cudnn", "efficient", "math"] | None = None
    """Which of PyTorch's implementations, on a GPU; by default PyTorch chooses."""


class TorchVariant(Variant):
    """What both PyTorch baselines share."""

    is_baseline = True
    loader: ClassVar[str]
    """Name of the function that loads it, in `calls` and in `device`."""

    def supports(self, problem: AttentionProblem, target: str) -> str | None:
        """Return None, or why PyTorch cannot compute this problem; does not import PyTorch."""
        name, chip = name_of(target), chip_of(target) or ""
        if name not in ("cpu", "cuda"):
            return f"PyTorch runs on the targets cpu and cuda here, not on {name}"
        if name == "cpu" and chip not in CHIPS:
            return f"PyTorch chooses its instruction set itself, {chip} cannot be asked for; use cpu"
        if importlib.util.find_spec("torch") is None:
            return MISSING
        return self.refuses(problem)

    @abstractmethod
    def refuses(self, problem: AttentionProblem) -> str | None:
        """Return the reason particular to this baseline, or None."""

    @abstractmethod
    def calls(self, problem: AttentionProblem) -> list[str]:
        """Return the calls that `run` makes, one line each."""

    def metrics(self, problem: AttentionProblem) -> StaticMetrics:
        """Return what is known without running."""
        return StaticMetrics()

    def source(self, case: Case) -> str:
        """Return the calls as text; the problem's masks and sizes are in the case."""
        return "\n".join([*self.calls(case.problem), ""])

    def build(self, case: Case, key: str, folder: Path) -> Artifact:
        """Write the calls down; PyTorch holds the code."""
        (folder / SOURCE_FILE).write_text(self.source(case), encoding="utf-8")
        return Artifact(
            case=case,
            key=key,
            metrics=self.metrics(case.problem),
            stage_seconds={"source": 0.0},
            stage_files={"source": SOURCE_FILE},
            **(self._on_device(case) if case.target.startswith("cuda") else self._on_processor(case)),
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
        loader = Loader(
            executor="device",
            function=f"harness.variants.baselines.torch.device:{self.loader}",
            packages=("torch", *device_executor.PACKAGES),
            install="attention-harness[baselines,device]",
        )
        choice = choose([loader], case)
        return {
            "executor": choice.executor,
            "loader": choice.function,
            "loaders": (loader,),
            "launch": {"chip": CudaTarget().chip(chip_of(case.target))},
            "why_not_run": choice.why_not,
        }

    def tool_versions(self) -> dict[str, str]:
        """Return the version of PyTorch, where it is installed."""
        try:
            return {"torch": importlib.metadata.version("torch")}
        except importlib.metadata.PackageNotFoundError:
            return {}


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
        if problem.softcap is not None:
            return "scaled_dot_product_attention has no softcap"
        if problem.sinks:
            return "scaled_dot_product_attention has no sinks"
        if problem.log_sum_exp:
            return "log_sum_exp: scaled_dot_product_attention has one output"
        if problem.is_packed and problem.window is not None:
            return "this baseline has no window for packed sequences"
        if problem.model_width is not None and (problem.window or problem.mask or problem.bias):
            return "with projections this baseline has no mask but the causal one"
        return None

    def calls(self, problem: AttentionProblem) -> list[str]:
        """Return the one call."""
        arguments = ["q", "k", "v", f"scale={problem.scale!r}"]
        lines = []
        if problem.is_packed:
            lines.append("for q, k, v, output in sequences:  # views of the packed tensors")
        if problem.model_width is not None:
            lines.append(
                "q, k, v = ((x @ w).unflatten(-1, (heads, -1)).transpose(1, 2) for w, heads in weights)"
            )
        if uses_causal_flag(problem):
            arguments.append("is_causal=True")
        elif mask_shape(problem) is not None or problem.bias:
            arguments.append("attn_mask=visible_or_bias")
        if problem.group_size > 1:
            arguments.append("enable_gqa=True")
        lines.append(f"output = torch.nn.functional.scaled_dot_product_attention({', '.join(arguments)})")
        if problem.output_projection:
            lines.append("output = output.transpose(1, 2).flatten(2) @ output_weights")
        return lines


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
        if problem.is_packed:
            return "packed sequences are not an input of three matrix operations"
        if problem.model_width is not None:
            return "projections are not part of this baseline"
        if problem.sinks:
            return "sinks are not part of this baseline"
        if problem.log_sum_exp:
            return "log_sum_exp: this baseline has one output"
        if problem.queries_without_keys():
            return "torch.softmax gives NaN for a query that sees no key"
        return None

    def calls(self, problem: AttentionProblem) -> list[str]:
        """Return the calls in order."""
        lines = [f"torch.baddbmm(scores, q, k.transpose(1, 2), beta=0, alpha={problem.scale!r}, out=scores)"]
        if problem.softcap is not None:
            lines.append(f"scores.div_({problem.softcap!r}).tanh_().mul_({problem.softcap!r})")
        if problem.bias:
            lines.append("scores.add_(bias)")
        if mask_shape(problem) is not None:
            lines.append("scores.masked_fill_(hidden, -inf)")
        return [
            *lines,
            "torch.softmax(scores, -1, out=probabilities)",
            "torch.bmm(probabilities, v, out=output)",
        ]

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
