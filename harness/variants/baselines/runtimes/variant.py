"""The baselines `onnxruntime` and `openvino`: attention as one operation of an inference runtime.

Both are in the optional extra `runtimes`.
"""

from pathlib import Path

from harness.problem.attention_problem import AttentionProblem
from harness.variants.baselines.library import LibraryVariant
from harness.variants.baselines.masks import lacks

FOLDER = "harness.variants.baselines.runtimes"


class OnnxRuntime(LibraryVariant):
    """ONNX's operator `Attention` (opset 23), on ONNX Runtime's provider for processors.

    Full f32 attention with a key head for each query head is `com.microsoft`'s `MultiHeadAttention` instead:
    for it the runtime has a flash kernel, which keeps no scores in memory.
    """

    name = "onnxruntime"
    summary = "ONNX Runtime's attention on processors"
    library = "ONNX Runtime"
    extra = "runtimes"
    packages = ("onnxruntime", "onnx")
    calls = Path(__file__).with_name("onnx_calls.py")
    loader = f"{FOLDER}.onnx_calls:load"

    def refuses(self, problem: AttentionProblem) -> str | None:
        """Return why ONNX's attention cannot compute the problem."""
        if problem.dtype == "bf16":
            return "ONNX Runtime has no attention in bf16 on processors"
        if problem.queries_without_keys():
            return "ONNX Runtime's attention is not 0 for a query that sees no key"
        return lacks(problem, "cu_seqlens_q", "model_width", "sinks", "log_sum_exp")


class OpenVino(LibraryVariant):
    """OpenVINO's `ScaledDotProductAttention`, computed in the problem's type."""

    name = "openvino"
    summary = "OpenVINO's ScaledDotProductAttention on processors"
    library = "OpenVINO"
    extra = "runtimes"
    packages = ("openvino",)
    calls = Path(__file__).with_name("openvino_calls.py")
    loader = f"{FOLDER}.openvino_calls:load"

    def refuses(self, problem: AttentionProblem) -> str | None:
        """Return why OpenVINO's operation cannot compute the problem."""
        if problem.group_size > 1:
            return "OpenVINO's operation takes a key head for each query head"
        if problem.queries_without_keys():
            return "OpenVINO's attention is not 0 for a query that sees no key"
        return lacks(problem, "cu_seqlens_q", "model_width", "softcap", "sinks", "log_sum_exp")
