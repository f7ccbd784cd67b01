"""Makes and calls models of ONNX Runtime; imported only in the process that runs them."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import helper

from harness.artifact.artifact import Artifact
from harness.artifact.bound_call import Executable
from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import Inputs
from harness.variants.baselines.heap import keep_heap_warm
from harness.variants.baselines.runtimes.bound_arrays import ArrayCall

OPSETS = [helper.make_opsetid("", 23), helper.make_opsetid("com.microsoft", 1)]
IR_VERSION = 11
"""The first version of ONNX's format with opset 23."""
OPERANDS = ("q", "k", "v")


def load(artifact: Artifact, folder: Path) -> "OnnxExecutable":
    """Return the executable with the artifact's number of threads."""
    return OnnxExecutable(artifact.case.problem, int(artifact.launch["threads"]))


class OnnxExecutable(Executable):
    """Models of one operator."""

    def __init__(self, problem: AttentionProblem, threads: int) -> None:
        self.problem = problem
        self.options = onnxruntime.SessionOptions()
        self.options.intra_op_num_threads = threads
        self.options.inter_op_num_threads = 1
        # Threads that spin between calls would slow down the candidates that take turns with this one.
        self.options.add_session_config_entry("session.intra_op.allow_spinning", "0")

    def bind(self, inputs: Inputs) -> "OnnxCall":
        """Make the model for the inputs' shapes, and a session of it."""
        return OnnxCall(self.problem, inputs, self.options)

    def take_process(self) -> None:
        """Keep the heap warm."""
        keep_heap_warm()


class OnnxCall(ArrayCall):
    """One run of a session whose operands and result are arrays of this process."""

    def __init__(
        self, problem: AttentionProblem, inputs: Inputs, options: onnxruntime.SessionOptions
    ) -> None:
        has_flash_kernel = _has_flash_kernel(problem)
        super().__init__(problem, inputs, tokens_first=has_flash_kernel)
        arrays = dict(zip(OPERANDS, self.operands, strict=True))
        if self.added is not None:
            arrays["added"] = self.added
        node = _multi_head_attention(problem) if has_flash_kernel else _attention(self, list(arrays))
        model = _model(node, arrays, self.result)
        self.session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        self.binding = self.session.io_binding()
        for name, array in arrays.items():
            self.binding.bind_input(name, "cpu", 0, array.dtype, array.shape, array.ctypes.data)
        self.binding.bind_output(
            "output", "cpu", 0, self.result.dtype, self.result.shape, self.result.ctypes.data
        )

    def run(self) -> None:
        """Run the session once; it returns when the result is there."""
        self.session.run_with_iobinding(self.binding)


def _has_flash_kernel(problem: AttentionProblem) -> bool:
    """Return whether the runtime computes the problem without a matrix of scores."""
    masked = problem.causal or problem.window or problem.mask or problem.bias or problem.kv_lengths
    is_plain = not masked and problem.softcap is None and problem.group_size == 1
    return problem.dtype == "f32" and is_plain


def _multi_head_attention(problem: AttentionProblem) -> onnx.NodeProto:
    return helper.make_node(
        "MultiHeadAttention",
        list(OPERANDS),
        ["output"],
        domain="com.microsoft",
        num_heads=problem.heads,
        scale=problem.scale,
    )


def _attention(call: ArrayCall, operands: list[str]) -> onnx.NodeProto:
    problem = call.problem
    return helper.make_node(
        "Attention",
        operands,
        ["output"],
        is_causal=int(call.is_causal),
        scale=problem.scale,
        softcap=problem.softcap or 0.0,
    )


def _model(node: onnx.NodeProto, arrays: dict[str, np.ndarray], result: np.ndarray) -> onnx.ModelProto:
    inputs = [_declared(name, array) for name, array in arrays.items()]
    graph = helper.make_graph([node], "attention", inputs, [_declared("output", result)])
    return helper.make_model(graph, opset_imports=OPSETS, ir_version=IR_VERSION)


def _declared(name: str, array: np.ndarray) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
