"""Heads of a problem shared out among ranks, as tensor parallelism does (Megatron-LM, Shoeybi et al., 2019).

Each rank has as many heads as every other and computes the same problem on them: it has the columns of its
heads in the weights, and of the output's weights their rows.  What ranks give is then joined head by head,
or, where the output is projected, added up, which is what an all-reduce does.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import Inputs, inputs_of
from harness.problem.outputs import OUTPUT
from harness.system.errors import UnsupportedError

HEAD_AXIS = 1


def problem_of_rank(problem: AttentionProblem, ranks: int) -> AttentionProblem:
    """Return what each of so many ranks computes.

    Ranks that are more than heads of K and V have one of these each, several ranks the same.  Raises
    `UnsupportedError` where heads cannot be shared out evenly.
    """
    if problem.heads % ranks:
        raise UnsupportedError(f"{problem.heads} heads cannot be shared out evenly among {ranks} ranks")
    if problem.kv_heads % ranks and ranks % problem.kv_heads:
        raise UnsupportedError(
            f"{problem.kv_heads} heads of K and V cannot be shared out evenly among {ranks} ranks"
        )
    heads, kv_heads = problem.heads // ranks, max(1, problem.kv_heads // ranks)
    return problem.model_copy(update={"heads": heads, "kv_heads": kv_heads})


def inputs_of_rank(inputs: Inputs, problem: AttentionProblem, ranks: int, rank: int) -> Inputs:
    """Return a rank's own inputs; the tokens are everybody's."""
    own = problem_of_rank(problem, ranks)
    heads = slice(rank * own.heads, (rank + 1) * own.heads)
    first = heads.start // problem.group_size
    kv_heads, every = slice(first, first + own.kv_heads), slice(None)
    places: dict[str, Any] = {
        "tokens": every,
        "q": (every, heads),
        "k": (every, kv_heads),
        "v": (every, kv_heads),
        "query_weights": (every, _columns(heads, problem.head_dim)),
        "key_weights": (every, _columns(kv_heads, problem.head_dim)),
        "value_weights": (every, _columns(kv_heads, problem.head_dim_v)),
        "output_weights": _columns(heads, problem.head_dim_v),
    }
    return inputs_of(
        {
            name: np.ascontiguousarray(array[places[name]] if name in places else _of_heads(array, heads))
            for name, array in inputs.arrays().items()
        }
    )


def joined_outputs(
    outputs: Sequence[Mapping[str, np.ndarray]], problem: AttentionProblem
) -> dict[str, np.ndarray]:
    """Return the whole problem's outputs from those of all ranks, in order."""
    arrays = {name: [of_rank[name] for of_rank in outputs] for name in outputs[0]}
    joined = {
        name: np.concatenate(of_ranks, axis=HEAD_AXIS)
        for name, of_ranks in arrays.items()
        if name != OUTPUT or not problem.output_projection
    }
    if OUTPUT not in joined:
        dtype = arrays[OUTPUT][0].dtype
        joined[OUTPUT] = np.sum(arrays[OUTPUT], axis=0, dtype=np.float32).astype(dtype)
    return joined


def _columns(heads: slice, width: int) -> slice:
    return slice(heads.start * width, heads.stop * width)


def _of_heads(operand: np.ndarray, heads: slice) -> np.ndarray:
    """Return the part of an operand that belongs to some heads; a mask or bias for all heads stays."""
    if operand.ndim == 1:
        return operand[heads]
    if operand.ndim < 3 or operand.shape[-3] == 1:
        return operand
    return operand[..., heads, :, :]
