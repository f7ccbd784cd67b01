"""Attention as IREE takes it: the `iree_linalg_ext.attention` op, or three linalg ops, as MLIR text.

Text and not the `mlir` bindings, because the attention op belongs to IREE's own dialects.  In both forms
heads are split into (kv head g, query head r of that group), so K and V are never repeated:

    Q [batch, kv_heads, group, seq_q, head_dim]     K [batch, kv_heads, seq_kv, head_dim]
    O [batch, kv_heads, group, seq_q, head_dim_v]   V [batch, kv_heads, seq_kv, head_dim_v]

What follows V is named by `attention_op_operands` and `unfused_operands`: `mask`, boolean, true where
visible; `bias`, added to the scores; `masked_bias`, the bias with −inf where a key is hidden.
"""

import math

from harness.problem.attention_problem import AttentionProblem
from harness.variants.baselines.iree.transforms import script
from harness.variants.baselines.masks import mask_shape

ENTRY = "attention"

MASK_DIMS = {(False, False): "m, n", (True, False): "b, m, n", (True, True): "b, g, r, m, n"}
"""Mask dimensions by (differs between batch entries, differs between heads)."""

SCORE_DIMS = "b, g, r, m, n"
OUTPUT_DIMS = "b, g, r, m, e"


def mask_operand_shape(problem: AttentionProblem) -> tuple[int, ...] | None:
    """Return the shape of the mask operand, without the leading sizes that nothing varies along."""
    if mask_shape(problem) is None:
        return None
    sizes = _sizes(problem)
    return tuple(sizes[dim] for dim in _operand_dims(problem)["mask"].split(", "))


def attention_op_operands(problem: AttentionProblem) -> list[str]:
    """Return the names of the operands of `attention_op`; the op takes one mask, boolean or additive."""
    if problem.bias:
        return ["q", "k", "v", "masked_bias"]
    return ["q", "k", "v", "mask"] if mask_shape(problem) is not None else ["q", "k", "v"]


def unfused_operands(problem: AttentionProblem) -> list[str]:
    """Return the names of the operands of `unfused`."""
    masks = ["mask"] if mask_shape(problem) is not None else []
    return ["q", "k", "v", *masks, *(["bias"] if problem.bias else [])]


def attention_op(problem: AttentionProblem) -> str:
    """Return a module whose function is one `iree_linalg_ext.attention`.

    IREE folds log2 e into the scale, so that it can use exp2, and the op's region sees the scaled score times
    log2 e: a cap of c·log2 e then does what a cap of c does to the score itself.
    """
    parameters = _parameters(problem, attention_op_operands(problem))
    dims = _operand_dims(problem)
    maps = [dims[name] for name in parameters]
    # The op's own order: Q, K, V, scale, then the mask.
    inputs = list(parameters.items())
    inputs.insert(3, ("scale", "f32"))
    maps.insert(3, "")
    return _module(
        "attention_op",
        problem,
        parameters,
        cap=None if problem.softcap is None else f"{problem.softcap * math.log2(math.e):.9e}",
        maps=_maps("b, g, r, m, k, n, e", [*maps, OUTPUT_DIMS]),
        inputs=_operand_list(inputs),
    )


def unfused(problem: AttentionProblem) -> str:
    """Return a module of matmul, scale and masks, softmax, matmul; scores and softmax are f32."""
    parameters = _parameters(problem, unfused_operands(problem))
    dims, dtype = _operand_dims(problem), problem.dtype
    heads = problem.batch * problem.kv_heads
    rows, keys = f"{heads}x{problem.group_size * problem.seq_q}", f"{heads}x{problem.seq_kv}"
    operands = list(parameters)[3:]
    scores = _tensor(problem, SCORE_DIMS, "f32")
    inputs = [("raw", scores), *((name, parameters[name]) for name in operands)]
    maps = [SCORE_DIMS, *(dims[name] for name in operands), SCORE_DIMS]
    return _module(
        "unfused",
        problem,
        parameters,
        **{name: parameters[name] for name in "qkv"},
        q3=f"tensor<{rows}x{problem.head_dim}x{dtype}>",
        k3=f"tensor<{keys}x{problem.head_dim}x{dtype}>",
        v3=f"tensor<{keys}x{problem.head_dim_v}x{dtype}>",
        scores3=f"tensor<{rows}x{problem.seq_kv}xf32>",
        p3=f"tensor<{rows}x{problem.seq_kv}x{dtype}>",
        sums3=f"tensor<{rows}x{problem.head_dim_v}xf32>",
        scores=scores,
        sums=_tensor(problem, OUTPUT_DIMS, "f32"),
        rows=", ".join(map(str, (problem.batch, problem.kv_heads, problem.group_size, problem.seq_q))),
        keys=problem.seq_kv,
        columns=problem.head_dim_v,
        dtype=dtype,
        operands=operands,
        cap=None if problem.softcap is None else f"{problem.softcap:.9e}",
        maps=_maps(SCORE_DIMS, maps),
        inputs=_operand_list(inputs),
        elements=", ".join(f"%{name}_x: {_element(kind)}" for name, kind in inputs),
    )


def _module(template: str, problem: AttentionProblem, parameters: dict[str, str], **values: object) -> str:
    """Return a function of these parameters, by name with their types."""
    return (
        script(
            template,
            entry=ENTRY,
            arguments=", ".join(f"%{name}: {kind}" for name, kind in parameters.items()),
            result=_tensor(problem, OUTPUT_DIMS, problem.dtype),
            scale=f"{problem.scale:.9e}",
            **values,
        )
        + "\n"
    )


def _sizes(problem: AttentionProblem) -> dict[str, int]:
    return {
        "b": problem.batch,
        "g": problem.kv_heads,
        "r": problem.group_size,
        "m": problem.seq_q,
        "n": problem.seq_kv,
        "k": problem.head_dim,
        "e": problem.head_dim_v,
    }


def _operand_dims(problem: AttentionProblem) -> dict[str, str]:
    return {
        "q": "b, g, r, m, k",
        "k": "b, g, n, k",
        "v": "b, g, n, e",
        "mask": MASK_DIMS[problem.mask or problem.kv_lengths is not None, problem.mask],
        "bias": SCORE_DIMS,
        "masked_bias": SCORE_DIMS,
    }


def _parameters(problem: AttentionProblem, operands: list[str]) -> dict[str, str]:
    """Return the tensor type of each operand."""
    dims = _operand_dims(problem)
    elements = {"mask": "i1"}
    return {name: _tensor(problem, dims[name], elements.get(name, problem.dtype)) for name in operands}


def _tensor(problem: AttentionProblem, dims: str, element: str) -> str:
    sizes = _sizes(problem)
    return f"tensor<{'x'.join(str(sizes[dim]) for dim in dims.split(', '))}x{element}>"


def _element(tensor: str) -> str:
    return tensor.removesuffix(">").rpartition("x")[2]


def _maps(space: str, results: list[str]) -> str:
    return ", ".join(f"affine_map<({space}) -> ({dims})>" for dims in results)


def _operand_list(operands: list[tuple[str, str]]) -> str:
    names = ", ".join(f"%{name}" for name, _ in operands)
    return f"{names} : {', '.join(kind for _, kind in operands)}"
