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
from harness.variants.baselines.masks import mask_shape

ENTRY = "attention"

MASK_DIMS = {(False, False): "m, n", (True, False): "b, m, n", (True, True): "b, g, r, m, n"}
"""Mask dimensions by (differs between batch entries, differs between heads)."""

SCORE_DIMS = "b, g, r, m, n"


def mask_operand_shape(problem: AttentionProblem) -> tuple[int, ...] | None:
    """Return the shape of the mask operand, without the leading sizes that nothing varies along."""
    shape = mask_shape(problem)
    if shape is None:
        return None
    sizes = _sizes(problem)
    return tuple(sizes[dim] for dim in _mask_dims(problem).split(", "))


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
    """Return a module whose function is one `iree_linalg_ext.attention`."""
    space = "b, g, r, m, k, n, e"
    parameters = _parameters(problem, attention_op_operands(problem))
    dims = _operand_dims(problem)
    maps = [dims[name] for name, _ in parameters]
    # The op's own order: Q, K, V, scale, then the mask.
    inputs = [*parameters[:3], ("scale", "f32"), *parameters[3:]]
    maps = [*maps[:3], "", *maps[3:], "b, g, r, m, e"]
    result = _tensor(problem, maps[-1], problem.dtype)
    region = "\n".join(f"      {line}" for line in _attention_region(problem))
    return f"""{_signature(parameters, result)} {{
  %scale = arith.constant {problem.scale:.9e} : f32
  %empty = tensor.empty() : {result}
  %output = iree_linalg_ext.attention <{{indexing_maps = [{_maps(space, maps)}]}}>
      ins({_operand_list(inputs)}) outs(%empty : {result}) {{
    ^bb0(%score: f32):
{region}
  }} -> {result}
  return %output : {result}
}}
"""


def _attention_region(problem: AttentionProblem) -> list[str]:
    """Return what the op does to each score.

    IREE folds log2 e into the scale, so that it can use exp2, and the region sees the scaled score times
    log2 e: a cap of c·log2 e then does what a cap of c does to the score itself.
    """
    if problem.softcap is None:
        return ["iree_linalg_ext.yield %score : f32"]
    return [
        f"%cap = arith.constant {problem.softcap * math.log2(math.e):.9e} : f32",
        "%ratio = arith.divf %score, %cap : f32",
        "%tanh = math.tanh %ratio : f32",
        "%capped = arith.mulf %tanh, %cap : f32",
        "iree_linalg_ext.yield %capped : f32",
    ]


def unfused(problem: AttentionProblem) -> str:
    """Return a module of matmul, scale and masks, softmax, matmul; scores and softmax are f32."""
    parameters = _parameters(problem, unfused_operands(problem))
    q, k, v = (kind for _, kind in parameters[:3])
    rows = f"{problem.batch * problem.kv_heads}x{problem.group_size * problem.seq_q}"
    keys = f"{problem.batch * problem.kv_heads}x{problem.seq_kv}"
    types = {
        "q": f"tensor<{rows}x{problem.head_dim}x{problem.dtype}>",
        "k": f"tensor<{keys}x{problem.head_dim}x{problem.dtype}>",
        "v": f"tensor<{keys}x{problem.head_dim_v}x{problem.dtype}>",
        "scores": f"tensor<{rows}x{problem.seq_kv}xf32>",
        "p": f"tensor<{rows}x{problem.seq_kv}x{problem.dtype}>",
        "sums": f"tensor<{rows}x{problem.head_dim_v}xf32>",
    }
    scores = _tensor(problem, SCORE_DIMS, "f32")
    sums = _tensor(problem, "b, g, r, m, e", "f32")
    result = _tensor(problem, "b, g, r, m, e", problem.dtype)
    lines = [
        "%zero = arith.constant 0.0 : f32",
        f"%q3 = tensor.collapse_shape %q [[0, 1], [2, 3], [4]] : {q} into {types['q']}",
        f"%k3 = tensor.collapse_shape %k [[0, 1], [2], [3]] : {k} into {types['k']}",
        f"%v3 = tensor.collapse_shape %v [[0, 1], [2], [3]] : {v} into {types['v']}",
        *_matmul("raw3", "q3", "k3", types["q"], types["k"], types["scores"], transposed=True),
        _expand(problem, "raw", "raw3", types["scores"], scores, problem.seq_kv),
        *_score_modification(problem, parameters[3:], scores),
        f"%softmax = linalg.softmax dimension(4) ins(%scores : {scores}) outs(%e_scores : {scores})"
        f" -> {scores}",
        f"%p3 = tensor.collapse_shape %softmax [[0, 1], [2, 3], [4]] : {scores} into {types['scores']}",
        *_round("p", "p3", types["scores"], types["p"], problem.dtype),
        *_matmul("sums3", "p", "v3", types["p"], types["v"], types["sums"], transposed=False),
        _expand(problem, "sums", "sums3", types["sums"], sums, problem.head_dim_v),
        *_round("output", "sums", sums, result, problem.dtype),
        f"return %output : {result}",
    ]
    body = "\n".join(f"  {line}" for line in lines)
    return f"{_signature(parameters, result)} {{\n{body}\n}}\n"


def _score_modification(problem: AttentionProblem, operands: list[tuple[str, str]], scores: str) -> list[str]:
    """Return the elementwise op on scores: scale, softcap, bias, masks, in this order."""
    body = [f"%scale = arith.constant {problem.scale:.9e} : f32", "%x0 = arith.mulf %raw_x, %scale : f32"]
    value = "x0"
    if problem.softcap is not None:
        body += [
            f"%cap = arith.constant {problem.softcap:.9e} : f32",
            f"%ratio = arith.divf %{value}, %cap : f32",
            "%tanh = math.tanh %ratio : f32",
            "%x1 = arith.mulf %tanh, %cap : f32",
        ]
        value = "x1"
    if problem.bias:
        widened = "bias_x"
        if problem.dtype != "f32":
            body.append(f"%bias_f32 = arith.extf %bias_x : {problem.dtype} to f32")
            widened = "bias_f32"
        body.append(f"%x2 = arith.addf %{value}, %{widened} : f32")
        value = "x2"
    if mask_shape(problem) is not None:
        body += [
            "%hidden = arith.constant 0xFF800000 : f32",
            f"%x3 = arith.select %mask_x, %{value}, %hidden : f32",
        ]
        value = "x3"
    inputs = [("raw", scores), *operands]
    dims = _operand_dims(problem)
    maps = [dims[name] for name, _ in operands]
    arguments = ", ".join(f"%{name}_x: {_element(kind)}" for name, kind in inputs)
    return [
        f"%e_scores = tensor.empty() : {scores}",
        f"%scores = linalg.generic {{indexing_maps = [{_maps(SCORE_DIMS, [SCORE_DIMS, *maps, SCORE_DIMS])}],",
        '    iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]}',
        f"    ins({_operand_list(inputs)}) outs(%e_scores : {scores}) {{",
        f"  ^bb0({arguments}, %out_x: f32):",
        *(f"    {line}" for line in body),
        f"    linalg.yield %{value} : f32",
        f"}} -> {scores}",
    ]


def _matmul(
    name: str, left: str, right: str, left_type: str, right_type: str, out_type: str, *, transposed: bool
) -> list[str]:
    """Return a batch matmul with an f32 accumulator; `transposed` reads the right side as `[b, n, k]`."""
    right_dims = "b, n, k" if transposed else "b, k, n"
    return [
        f"%e_{name} = tensor.empty() : {out_type}",
        f"%z_{name} = linalg.fill ins(%zero : f32) outs(%e_{name} : {out_type}) -> {out_type}",
        f"%{name} = linalg.batch_matmul",
        f"    indexing_maps = [{_maps('b, m, n, k', ['b, m, k', right_dims, 'b, m, n'])}]",
        f"    ins(%{left}, %{right} : {left_type}, {right_type}) outs(%z_{name} : {out_type}) -> {out_type}",
    ]


def _round(name: str, value: str, from_type: str, to_type: str, dtype: str) -> list[str]:
    """Return the rounding of an f32 tensor to the problem's dtype; a mere alias for f32."""
    if dtype == "f32":
        return [f"%{name} = tensor.cast %{value} : {from_type} to {to_type}"]
    return [f"%{name} = arith.truncf %{value} : {from_type} to {to_type}"]


def _expand(
    problem: AttentionProblem, name: str, value: str, from_type: str, to_type: str, width: int
) -> str:
    """Return `[batch·kv_heads, group·seq_q, width]` reshaped to five dimensions."""
    sizes = (problem.batch, problem.kv_heads, problem.group_size, problem.seq_q, width)
    shape = ", ".join(map(str, sizes))
    return (
        f"%{name} = tensor.expand_shape %{value} [[0, 1], [2, 3], [4]] output_shape [{shape}]"
        f" : {from_type} into {to_type}"
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


def _mask_dims(problem: AttentionProblem) -> str:
    return MASK_DIMS[problem.mask or problem.kv_lengths is not None, problem.mask]


def _operand_dims(problem: AttentionProblem) -> dict[str, str]:
    return {
        "q": "b, g, r, m, k",
        "k": "b, g, n, k",
        "v": "b, g, n, e",
        "mask": _mask_dims(problem),
        "bias": SCORE_DIMS,
        "masked_bias": SCORE_DIMS,
    }


def _parameters(problem: AttentionProblem, operands: list[str]) -> list[tuple[str, str]]:
    """Return name and tensor type of each operand."""
    dims = _operand_dims(problem)
    elements = {"mask": "i1"}
    return [(name, _tensor(problem, dims[name], elements.get(name, problem.dtype))) for name in operands]


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


def _signature(parameters: list[tuple[str, str]], result: str) -> str:
    arguments = ", ".join(f"%{name}: {kind}" for name, kind in parameters)
    return f"func.func @{ENTRY}({arguments}) -> {result}"
