"""The `torch` baseline on packed sequences and on problems with projections."""

from typing import Any

import numpy as np
import torch

from harness.artifact.bound_call import BoundCall
from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import Inputs
from harness.variants.baselines.torch.tensors import CPU, overwrite, to_array, to_tensor

attention = torch.nn.functional.scaled_dot_product_attention


class CallWithNewOutput(BoundCall):
    """A call whose output PyTorch allocates anew each time."""

    result: torch.Tensor | None = None

    def poison(self) -> None:
        """Forget the last output: there is no memory to fill beforehand."""
        self.result = None

    def output(self) -> np.ndarray:
        """Return the last output as a NumPy array."""
        if self.result is None:
            raise RuntimeError("output() before run()")
        return to_array(self.result)


class PackedCall(BoundCall):
    """One `scaled_dot_product_attention` for each packed sequence, written to its place in the output."""

    def __init__(self, problem: AttentionProblem, inputs: Inputs, device: torch.device = CPU) -> None:
        self.operands = tuple(to_tensor(array, device) for array in (inputs.q, inputs.k, inputs.v))
        q, k, v = self.operands
        self.result = q.new_full(problem.output_shape, torch.nan)
        self.calls: list[tuple[torch.Tensor, tuple[torch.Tensor, ...], dict[str, Any]]] = []
        starts = zip(problem.cu_seqlens_q or (), problem.cu_seqlens_kv or (), strict=True)
        for (first, key), (seq_q, seq_kv) in zip(starts, problem.sequence_lengths(), strict=False):
            place = self.result[first : first + seq_q]
            if seq_q and seq_kv:
                keys = slice(key, key + seq_kv)
                operands = (
                    _heads_first(q[first : first + seq_q]),
                    _heads_first(k[keys]),
                    _heads_first(v[keys]),
                )
                self.calls.append((place, operands, _options(problem, seq_q, seq_kv, device)))
        self.without_keys = [
            self.result[first : first + seq_q]
            for first, (seq_q, seq_kv) in zip(
                problem.cu_seqlens_q or (), problem.sequence_lengths(), strict=False
            )
            if seq_kv == 0
        ]

    def poison(self) -> None:
        """Fill the output with NaN."""
        self.result.fill_(torch.nan)

    def take_inputs(self, inputs: Inputs) -> bool:
        """Copy Q, K and V to where those lie that it is bound to."""
        overwrite(self.operands, (inputs.q, inputs.k, inputs.v))
        return True

    def run(self) -> None:
        """Compute the sequences one after another."""
        for place, operands, options in self.calls:
            place.copy_(attention(*operands, **options)[0].transpose(0, 1))
        for place in self.without_keys:
            place.zero_()

    def output(self) -> np.ndarray:
        """Return a copy of the output."""
        return to_array(self.result).copy()


class ProjectedCall(CallWithNewOutput):
    """Three projections, one `scaled_dot_product_attention` and, if there is one, the output's projection."""

    def __init__(self, problem: AttentionProblem, inputs: Inputs, device: torch.device = CPU) -> None:
        if inputs.projections is None:
            raise ValueError("the inputs have no tokens and weights")
        self.problem = problem
        projections = inputs.projections
        self.tokens = to_tensor(projections.tokens, device)
        self.weights = [
            (to_tensor(weights, device), heads)
            for weights, heads in (
                (projections.query_weights, problem.heads),
                (projections.key_weights, problem.kv_heads),
                (projections.value_weights, problem.kv_heads),
            )
        ]
        weights = projections.output_weights
        self.output_weights = None if weights is None else to_tensor(weights, device)
        self.options = _options(problem, problem.seq_q, problem.seq_kv, device)

    def take_inputs(self, inputs: Inputs) -> bool:
        """Copy tokens to where those lie that it is bound to; weights stay."""
        if inputs.projections is None:
            return False
        overwrite([self.tokens], [inputs.projections.tokens])
        return True

    def run(self) -> None:
        """Project, split into heads, attend; join and project where that is asked for."""
        operands = [
            (self.tokens @ weights).unflatten(-1, (heads, -1)).transpose(1, 2)
            for weights, heads in self.weights
        ]
        heads = attention(*operands, **self.options)
        if self.output_weights is not None:
            heads = heads.transpose(1, 2).flatten(2) @ self.output_weights
        self.result = heads


def _heads_first(tokens: torch.Tensor) -> torch.Tensor:
    """Return `[tokens, heads, width]` as `[1, heads, tokens, width]`, without a copy."""
    return tokens.transpose(0, 1).unsqueeze(0)


def _options(problem: AttentionProblem, seq_q: int, seq_kv: int, device: torch.device) -> dict[str, Any]:
    """Return the options of a call; PyTorch aligns its causal flag top-left."""
    options: dict[str, Any] = {"scale": problem.scale, "enable_gqa": problem.group_size > 1}
    is_top_left = seq_q == seq_kv or problem.causal_alignment == "top-left"
    if problem.causal and is_top_left and problem.scale >= 0:
        options["is_causal"] = True
    elif problem.causal:
        queries = torch.arange(seq_q, device=device)[:, None]
        keys = torch.arange(seq_kv, device=device)
        options["attn_mask"] = keys <= queries + (0 if is_top_left else seq_kv - seq_q)
    return options
