"""Loads and calls the PyTorch baselines; imported only in the process that runs them.

What is computed is the same on the CPU and on a GPU, where `torch_device` loads it.
"""

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch

from harness.artifact.artifact import Artifact
from harness.artifact.bound_call import BoundCall, Executable
from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import Inputs
from harness.system.errors import UnsupportedError
from harness.variants.baselines.heap import keep_heap_warm
from harness.variants.baselines.masks import (
    require_operands,
    some_query_sees_no_key,
    visible_keys,
    without_padding,
)
from harness.variants.baselines.torch.sequences import CallWithNewOutput, PackedCall, ProjectedCall
from harness.variants.baselines.torch.tensors import CPU, overwrite, to_array, to_tensor
from harness.variants.baselines.torch.variant import uses_causal_flag

ONE_AT_A_TIME = threading.RLock()
"""Held by the thread that calls PyTorch with a number of threads of its own."""


@contextmanager
def with_threads(count: int) -> Iterator[None]:
    """Let PyTorch compute with so many threads in here, and put back how many there were before.

    Other threads of the process wait meanwhile where they come here, too.
    """
    with ONE_AT_A_TIME:
        before = torch.get_num_threads()
        _set(count, before)
        try:
            yield
        finally:
            _set(before, torch.get_num_threads())


def _set(count: int, present: int) -> None:
    """Set the number where it is another one: PyTorch then also begins new threads."""
    if count != present:
        torch.set_num_threads(count)


def load_fused(artifact: Artifact, folder: Path) -> "OnProcessor":
    """Return the executable of `torch`."""
    return OnProcessor(FusedExecutable(artifact.case.problem), int(artifact.launch["threads"]))


def load_unfused(artifact: Artifact, folder: Path) -> "OnProcessor":
    """Return the executable of `torch-unfused`."""
    return OnProcessor(UnfusedExecutable(artifact.case.problem), int(artifact.launch["threads"]))


class OnProcessor(Executable):
    """Calls of PyTorch on a number of threads."""

    def __init__(self, inner: Executable, threads: int) -> None:
        self.inner = inner
        self.threads = threads

    def bind(self, inputs: Inputs) -> BoundCall:
        """Make tensors of the arrays."""
        return self.inner.bind(inputs)

    def turn(self) -> AbstractContextManager[object]:
        """Give PyTorch this number of threads, and afterwards the caller's again."""
        return with_threads(self.threads)

    def take_process(self) -> None:
        """Give PyTorch this number of threads for good, and keep the heap warm."""
        torch.set_num_threads(self.threads)
        keep_heap_warm()


class FusedExecutable(Executable):
    """`scaled_dot_product_attention` for one problem."""

    def __init__(self, problem: AttentionProblem, device: torch.device = CPU) -> None:
        self.problem = problem
        self.device = device

    def bind(self, inputs: Inputs) -> BoundCall:
        """Make tensors of the arrays; masks and bias become one operand.

        On the CPU nothing is copied but padded keys and values, whose padding becomes 0.
        """
        if self.problem.is_packed:
            return PackedCall(self.problem, inputs, self.device)
        if self.problem.model_width is not None:
            return ProjectedCall(self.problem, inputs, self.device)
        require_operands(self.problem, inputs)
        return FusedCall(self.problem, without_padding(self.problem, inputs), self.device)


class FusedCall(CallWithNewOutput):
    """One call; PyTorch allocates the output anew each time."""

    def __init__(self, problem: AttentionProblem, inputs: Inputs, device: torch.device) -> None:
        self.problem = problem
        self.arguments = tuple(to_tensor(array, device) for array in (inputs.q, inputs.k, inputs.v))
        self.options: dict[str, Any] = {"scale": problem.scale, "enable_gqa": problem.group_size > 1}
        if uses_causal_flag(problem):
            self.options["is_causal"] = True
        else:
            mask = _mask_operand(problem, inputs)
            self.options["attn_mask"] = None if mask is None else to_tensor(mask, device)

    def take_inputs(self, inputs: Inputs) -> bool:
        """Copy Q, K and V to where those lie that it is bound to."""
        inputs = without_padding(self.problem, inputs)
        overwrite(self.arguments, (inputs.q, inputs.k, inputs.v))
        return True

    def run(self) -> None:
        """Call `scaled_dot_product_attention` once; it returns when the result is there."""
        self.result = torch.nn.functional.scaled_dot_product_attention(*self.arguments, **self.options)


class UnfusedExecutable(Executable):
    """The three calls for one problem."""

    def __init__(self, problem: AttentionProblem, device: torch.device = CPU) -> None:
        self.problem = problem
        self.device = device

    def bind(self, inputs: Inputs) -> BoundCall:
        """Make tensors of the arrays, and allocate scores, probabilities and output.

        Raises `UnsupportedError` when mask or bias leave a query no key: the result would be NaN.
        """
        require_operands(self.problem, inputs)
        visible = visible_keys(self.problem, inputs.mask)
        if some_query_sees_no_key(self.problem, inputs, visible):
            raise UnsupportedError("torch.softmax gives NaN for a query that sees no key")
        return UnfusedCall(self.problem, without_padding(self.problem, inputs), visible, self.device)


class UnfusedCall(BoundCall):
    """The three calls on buffers that are allocated once, so that no fresh page is touched in `run`."""

    def __init__(
        self, problem: AttentionProblem, inputs: Inputs, visible: np.ndarray | None, device: torch.device
    ) -> None:
        key_heads = problem.batch * problem.kv_heads
        rows = problem.group_size * problem.seq_q
        self.operands = tuple(to_tensor(array, device) for array in (inputs.q, inputs.k, inputs.v))
        q, k, v = self.operands
        self.problem = problem
        self.q = q.reshape(key_heads, rows, problem.head_dim)
        self.k_transposed = k.reshape(key_heads, problem.seq_kv, problem.head_dim).transpose(1, 2)
        self.v = v.reshape(key_heads, problem.seq_kv, problem.head_dim_v)
        self.scores = self.q.new_full((key_heads, rows, problem.seq_kv), torch.nan)
        self.probabilities = torch.full_like(self.scores, torch.nan)
        self.result = self.q.new_full((key_heads, rows, problem.head_dim_v), torch.nan)
        # The same memory with the sizes that masks and bias broadcast to.
        self.scores_by_head = self.scores.view(problem.batch, problem.heads, problem.seq_q, problem.seq_kv)
        self.hidden = None if visible is None else to_tensor(~visible, device)
        self.bias = None if inputs.bias is None else to_tensor(inputs.bias, device)

    def poison(self) -> None:
        """Fill scores, probabilities and output with NaN."""
        for tensor in (self.scores, self.probabilities, self.result):
            tensor.fill_(torch.nan)

    def poison_outputs(self) -> None:
        """Fill the output with NaN."""
        self.result.fill_(torch.nan)

    def take_inputs(self, inputs: Inputs) -> bool:
        """Copy Q, K and V to where those lie that it is bound to."""
        inputs = without_padding(self.problem, inputs)
        overwrite(self.operands, (inputs.q, inputs.k, inputs.v))
        return True

    def run(self) -> None:
        """Scores, softcap, bias and masks where the problem has them, softmax, output."""
        torch.baddbmm(
            self.scores, self.q, self.k_transposed, beta=0, alpha=self.problem.scale, out=self.scores
        )
        if self.problem.softcap is not None:
            self.scores.div_(self.problem.softcap).tanh_().mul_(self.problem.softcap)
        if self.bias is not None:
            self.scores_by_head.add_(self.bias)
        if self.hidden is not None:
            self.scores_by_head.masked_fill_(self.hidden, -torch.inf)
        torch.softmax(self.scores, -1, out=self.probabilities)
        torch.bmm(self.probabilities, self.v, out=self.result)

    def output(self) -> np.ndarray:
        """Return a copy of the output buffer as a NumPy array."""
        return to_array(self.result).reshape(self.problem.output_shape).copy()


def _mask_operand(problem: AttentionProblem, inputs: Inputs) -> np.ndarray | None:
    """Return the boolean mask, or the bias with −inf where a key is hidden, or None.

    PyTorch broadcasts an operand of two dimensions or more only.
    """
    visible = visible_keys(problem, inputs.mask)
    if inputs.bias is None:
        return visible
    bias = np.atleast_2d(inputs.bias)
    if visible is not None:
        bias = np.where(visible, bias, np.array(-np.inf, dtype=bias.dtype))
    return bias
