"""Makes and calls models of OpenVINO; imported only in the process that runs them."""

from pathlib import Path

import numpy as np
import openvino
from openvino import opset13 as operations

from harness.artifact.artifact import Artifact
from harness.artifact.bound_call import Executable
from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import Inputs
from harness.variants.baselines.heap import keep_heap_warm
from harness.variants.baselines.runtimes.bound_arrays import ArrayCall

ELEMENT_TYPES = {"f32": openvino.Type.f32, "f16": openvino.Type.f16, "bf16": openvino.Type.bf16}

CAPABILITIES = {"f32": "FP32", "f16": "FP16", "bf16": "BF16"}
"""What OpenVINO calls arithmetic in each type."""


def load(artifact: Artifact, folder: Path) -> "OpenVinoExecutable":
    """Return the executable with the artifact's number of threads."""
    return OpenVinoExecutable(artifact.case.problem, int(artifact.launch["threads"]))


class OpenVinoExecutable(Executable):
    """Models of one operation, which compute in the problem's type."""

    def __init__(self, problem: AttentionProblem, threads: int) -> None:
        self.problem = problem
        self.core = openvino.Core()
        self.settings = {
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": 1,
            "INFERENCE_PRECISION_HINT": problem.dtype if self._computes_in(problem.dtype) else "f32",
            "PERFORMANCE_HINT": "LATENCY",
            "ENABLE_CPU_PINNING": False,
        }

    def _computes_in(self, dtype: str) -> bool:
        """Return whether OpenVINO has arithmetic in a type on this processor.

        Asked for f16 without it, it computes in bf16, whose error is eight times as large.
        """
        return CAPABILITIES[dtype] in self.core.get_property("CPU", "OPTIMIZATION_CAPABILITIES")

    def bind(self, inputs: Inputs) -> "OpenVinoCall":
        """Compile the model for the inputs' shapes."""
        return OpenVinoCall(self, inputs)

    def take_process(self) -> None:
        """Keep the heap warm."""
        keep_heap_warm()


class OpenVinoCall(ArrayCall):
    """One inference whose operands and result are arrays of this process."""

    def __init__(self, executable: OpenVinoExecutable, inputs: Inputs) -> None:
        problem = executable.problem
        super().__init__(problem, inputs)
        element = ELEMENT_TYPES[problem.dtype]
        arrays = self.operands if self.added is None else [*self.operands, self.added]
        parameters = [operations.parameter(list(array.shape), element) for array in arrays]
        q, k, v, *mask = parameters
        scale = operations.constant(problem.scale, element)
        # A scale stands behind a mask: without one the operation takes 0, which is added to each score.
        added = mask[0] if mask else operations.constant(np.zeros((1, 1)), element)
        attention = operations.scaled_dot_product_attention(q, k, v, added, scale, self.is_causal)
        model = openvino.Model([attention], parameters, "attention")
        compiled = executable.core.compile_model(model, "CPU", executable.settings)
        self.request = compiled.create_infer_request()
        for index, array in enumerate(arrays):
            self.request.set_input_tensor(index, _shared(array, element))
        self.request.set_output_tensor(0, _shared(self.result, element))

    def run(self) -> None:
        """Run the inference once; it returns when the result is there."""
        self.request.infer()


def _shared(array: np.ndarray, element: openvino.Type) -> openvino.Tensor:
    """Return a tensor in an array's memory; of bfloat16 OpenVINO knows the bits only."""
    if element == openvino.Type.bf16:
        return openvino.Tensor(array.view(np.uint16), array.shape, element)
    return openvino.Tensor(array, shared_memory=True)
