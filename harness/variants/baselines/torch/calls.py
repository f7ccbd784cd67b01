"""Loads and calls the PyTorch baselines; imported only in the process that runs them.

What is computed is the same on the CPU and on a GPU, where `device` loads it.
"""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch

from harness.artifact.artifact import Artifact
from harness.artifact.bound_call import BoundCall, Executable
from harness.artifact.wrapped import WrappedExecutable
from harness.problem.attention_problem import AttentionProblem
from harness.problem.dtypes import numpy_dtype
from harness.problem.inputs import Inputs
from harness.system.errors import UnsupportedError
from harness.variants.baselines.heap import keep_heap_warm
from harness.variants.baselines.masks import (
    some_query_sees_no_key,
    uses_causal_flag,
    visible_keys,
    without_padding,
)

ONE_AT_A_TIME = threading.RLock()
"""Held by the thread that calls PyTorch with a number of threads of its own."""

CPU = torch.device("cpu")

attention = torch.nn.functional.scaled_dot_product_attention


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
    return OnProcessor(TorchExecutable(artifact.case.problem, fused_call), artifact)


def load_unfused(artifact: Artifact, folder: Path) -> "OnProcessor":
    """Return the executable of `torch-unfused`."""
    return OnProcessor(TorchExecutable(artifact.case.problem, UnfusedCall), artifact)


class OnProcessor(WrappedExecutable):
    """Calls of PyTorch on an artifact's number of threads."""

    def __init__(self, code: Executable, artifact: Artifact) -> None:
        super().__init__(code)
        self.threads = int(artifact.launch["threads"])

    def turn(self) -> AbstractContextManager[object]:
        """Give PyTorch this number of threads, and afterwards the caller's again."""
        return with_threads(self.threads)

    def take_process(self) -> None:
        """Give PyTorch this number of threads for good, and keep the heap warm."""
        torch.set_num_threads(self.threads)
        keep_heap_warm()


@dataclass(eq=False)
class TorchExecutable(Executable):
    """Calls of one kind for one problem."""

    problem: AttentionProblem
    make_call: Callable[[AttentionProblem, Inputs, torch.device], BoundCall]
    device: torch.device = CPU

    def bind(self, inputs: Inputs) -> BoundCall:
        """Make tensors of the arrays; on the CPU only padded keys and values are copied."""
        return self.make_call(self.problem, inputs, self.device)


class TorchCall(BoundCall):
    """A call whose output PyTorch allocates anew each time."""

    def __init__(self, problem: AttentionProblem, inputs: Inputs, device: torch.device) -> None:
        self.problem = problem
        self.operands = [to_tensor(array, device) for array in _changing(problem, inputs)]
        self.result: torch.Tensor | None = None

    def poison(self) -> None:
        """Forget the last output: there is no memory to fill beforehand."""
        self.result = None

    def take_inputs(self, inputs: Inputs) -> bool:
        """Copy Q, K and V, or tokens, to where those lie that it is bound to."""
        overwrite(self.operands, _changing(self.problem, inputs))
        return True

    def output(self) -> np.ndarray:
        """Return a copy of the last output as a NumPy array."""
        if self.result is None:
            raise RuntimeError("output() before run()")
        return to_array(self.result).reshape(self.problem.output_shape).copy()


def _changing(problem: AttentionProblem, inputs: Inputs) -> list[np.ndarray]:
    """Return the arrays that differ from one call to the next, zeros where keys and values are padding."""
    if inputs.projections is not None:
        return [inputs.projections.tokens]
    inputs = without_padding(problem, inputs)
    return [inputs.q, inputs.k, inputs.v]


def fused_call(problem: AttentionProblem, inputs: Inputs, device: torch.device) -> TorchCall:
    """Return calls of `scaled_dot_product_attention`; masks and bias become one operand."""
    if problem.is_packed:
        return PackedCall(problem, inputs, device)
    return (ProjectedCall if problem.model_width is not None else FusedCall)(problem, inputs, device)


class FusedCall(TorchCall):
    """One `scaled_dot_product_attention`."""

    def __init__(self, problem: AttentionProblem, inputs: Inputs, device: torch.device) -> None:
        super().__init__(problem, inputs, device)
        self.options = _options(problem, inputs, device)

    def run(self) -> None:
        """Call it once; it returns when the result is there."""
        self.result = torch.nn.functional.scaled_dot_product_attention(*self.operands, **self.options)


class ProjectedCall(FusedCall):
    """Three projections, one `scaled_dot_product_attention` and, if there is one, the output's projection."""

    def __init__(self, problem: AttentionProblem, inputs: Inputs, device: torch.device) -> None:
        super().__init__(problem, inputs, device)
        if inputs.projections is None:
            raise ValueError("the inputs have no tokens and weights")
        weights = {name: to_tensor(array, device) for name, array in inputs.projections.arrays().items()}
        self.output_weights = weights.get("output_weights")
        heads = {"query": problem.heads, "key": problem.kv_heads, "value": problem.kv_heads}
        self.weights = [(weights[f"{name}_weights"], count) for name, count in heads.items()]

    def run(self) -> None:
        """Project, split into heads, attend; join and project where that is asked for."""
        (tokens,) = self.operands
        projected = [
            (tokens @ weights).unflatten(-1, (heads, -1)).transpose(1, 2) for weights, heads in self.weights
        ]
        heads = attention(*projected, **self.options)
        if self.output_weights is not None:
            heads = heads.transpose(1, 2).flatten(2) @ self.output_weights
        self.result = heads


class PackedCall(TorchCall):
    """One `scaled_dot_product_attention` for each packed sequence; what they give is joined."""

    def __init__(self, problem: AttentionProblem, inputs: Inputs, device: torch.device) -> None:
        super().__init__(problem, inputs, device)
        q, k, v = (tensor.transpose(0, 1).unsqueeze(0) for tensor in self.operands)
        self.parts: list[tuple[list[torch.Tensor], dict[str, Any]]] = []
        """Views `[1, heads, tokens, width]` of each sequence, and the options of its call."""
        starts = zip(pairwise(problem.cu_seqlens_q or ()), pairwise(problem.cu_seqlens_kv or ()), strict=True)
        for (first, end), (first_key, end_key) in starts:
            lengths = {"batch": 1, "seq_q": end - first, "seq_kv": end_key - first_key}
            alone = problem.model_copy(update={**lengths, "cu_seqlens_q": None, "cu_seqlens_kv": None})
            views = [q[:, :, first:end], *(tensor[:, :, first_key:end_key] for tensor in (k, v))]
            self.parts.append((views, _options(alone, inputs, device)))

    def run(self) -> None:
        """Compute the sequences one after another; queries of a sequence without keys give 0."""
        width = self.problem.head_dim_v
        outputs = [
            attention(q, k, v, **options) if q.numel() and k.numel() else q.new_zeros(*q.shape[:3], width)
            for (q, k, v), options in self.parts
        ]
        self.result = torch.cat(outputs, dim=2)[0].transpose(0, 1)


def _options(problem: AttentionProblem, inputs: Inputs, device: torch.device) -> dict[str, Any]:
    """Return the options of a call; PyTorch aligns its causal flag top-left."""
    options: dict[str, Any] = {"scale": problem.scale, "enable_gqa": problem.group_size > 1}
    if uses_causal_flag(problem):
        return options | {"is_causal": True}
    mask = _mask_operand(problem, inputs)
    return options if mask is None else options | {"attn_mask": to_tensor(mask, device)}


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


class UnfusedCall(TorchCall):
    """The three calls on buffers that are allocated once, so that no fresh page is touched in `run`.

    Raises `UnsupportedError` when mask or bias leave a query no key: the result would be NaN.
    """

    def __init__(self, problem: AttentionProblem, inputs: Inputs, device: torch.device) -> None:
        visible = visible_keys(problem, inputs.mask)
        if some_query_sees_no_key(problem, inputs, visible):
            raise UnsupportedError("torch.softmax gives NaN for a query that sees no key")
        super().__init__(problem, inputs, device)
        key_heads = problem.batch * problem.kv_heads
        rows = problem.group_size * problem.seq_q
        q, k, v = self.operands
        self.q = q.reshape(key_heads, rows, problem.head_dim)
        self.k_transposed = k.reshape(key_heads, problem.seq_kv, problem.head_dim).transpose(1, 2)
        self.v = v.reshape(key_heads, problem.seq_kv, problem.head_dim_v)
        self.scores = self.q.new_full((key_heads, rows, problem.seq_kv), torch.nan)
        self.probabilities = torch.full_like(self.scores, torch.nan)
        self.buffer = self.result = self.q.new_full((key_heads, rows, problem.head_dim_v), torch.nan)
        # The same memory with the sizes that masks and bias broadcast to.
        self.scores_by_head = self.scores.view(problem.batch, problem.heads, problem.seq_q, problem.seq_kv)
        self.hidden = None if visible is None else to_tensor(~visible, device)
        self.bias = None if inputs.bias is None else to_tensor(inputs.bias, device)

    def poison(self) -> None:
        """Fill scores, probabilities and output with NaN."""
        for tensor in (self.scores, self.probabilities, self.buffer):
            tensor.fill_(torch.nan)

    def poison_outputs(self) -> None:
        """Fill the output with NaN."""
        self.buffer.fill_(torch.nan)

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
        torch.bmm(self.probabilities, self.v, out=self.buffer)


def to_tensor(array: np.ndarray, device: torch.device = CPU) -> torch.Tensor:
    """Return a tensor on a device; on the CPU it shares the array's memory.

    bfloat16 passes as its 16 bits.
    """
    array = _with_usual_strides(np.ascontiguousarray(array))
    if array.dtype == numpy_dtype("bf16"):
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16).to(device)
    return torch.from_numpy(array).to(device)


def overwrite(tensors: Iterable[torch.Tensor], arrays: Iterable[np.ndarray]) -> None:
    """Copy arrays to tensors of their shapes, but where both are the same memory."""
    for tensor, array in zip(tensors, arrays, strict=True):
        source = to_tensor(array)
        if source.data_ptr() != tensor.data_ptr():
            tensor.copy_(source)


def _with_usual_strides(array: np.ndarray) -> np.ndarray:
    """Return a contiguous array with the strides that its shape gives.

    NumPy leaves those of dimensions of size 1 as they are, and PyTorch refuses negative ones.
    """
    return array.reshape(-1).reshape(array.shape)


def to_array(tensor: torch.Tensor) -> np.ndarray:
    """Return an array that shares the tensor's memory where that is contiguous and the CPU's."""
    tensor = tensor.contiguous().cpu()
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(numpy_dtype("bf16"))
    return tensor.numpy()
