"""Flash attention in Triton; imported only where Triton is installed.

After Dao, "FlashAttention-2: Faster Attention with Better Parallelism and Work Partitioning" (2023),
Algorithm 1: a program owns a tile of queries of one head, walks over the keys that any of them sees, and
rescales output and row sums when a row's maximum grows.  Every size is a constant of the compilation, so that
the kernel takes pointers only.
"""

import triton
import triton.language as tl


@triton.jit
def flash_attention(
    query,
    key,
    value,
    output,
    heads: tl.constexpr,
    kv_heads: tl.constexpr,
    seq_q: tl.constexpr,
    seq_kv: tl.constexpr,
    width: tl.constexpr,
    width_v: tl.constexpr,
    score_scale: tl.constexpr,
    exponent_scale: tl.constexpr,
    causal: tl.constexpr,
    shift: tl.constexpr,
    tile_q: tl.constexpr,
    tile_kv: tl.constexpr,
    precision: tl.constexpr,
):
    """Compute a tile of queries: `softmax(scale · q · kᵀ) · v`.

    `score_scale · exponent_scale` is the scale times log2(e); the second one is positive, and a part of the
    exponent's fused multiply-add.

    `query` and `output` are `[batch, heads, seq_q, …]`, `key` and `value` `[batch, kv_heads, seq_kv, …]`.
    If causal, query i sees keys j ≤ i + shift.  A query without keys gives zeros.
    """
    tiles: tl.constexpr = (seq_q + tile_q - 1) // tile_q
    # The last tiles of a causal head have the most keys: they start first.
    tile = tiles - 1 - tl.program_id(0) % tiles
    head = tl.program_id(0) // tiles
    kv_head = head // heads * kv_heads + head % heads // (heads // kv_heads)

    rows = tile * tile_q + tl.arange(0, tile_q)
    columns = tl.arange(0, width)
    columns_v = tl.arange(0, width_v)
    q_rows = query + head.to(tl.int64) * seq_q * width + rows[:, None] * width
    q = tl.load(q_rows + columns[None, :], mask=rows[:, None] < seq_q, other=0.0)
    keys = key + kv_head.to(tl.int64) * seq_kv * width
    values = value + kv_head.to(tl.int64) * seq_kv * width_v

    unmasked_end = seq_kv // tile_kv * tile_kv
    end = seq_kv
    if causal:
        first, last = tile * tile_q + shift, tile * tile_q + tile_q - 1 + shift
        unmasked_end = tl.maximum(0, tl.minimum(unmasked_end, (first + 1) // tile_kv * tile_kv))
        end = tl.minimum(end, last + 1)

    maximum = tl.full([tile_q], float("-inf"), tl.float32)
    total = tl.zeros([tile_q], tl.float32)
    result = tl.zeros([tile_q, width_v], tl.float32)
    for start in tl.range(0, unmasked_end, tile_kv):
        places = start + tl.arange(0, tile_kv)
        k = tl.load(keys + places[:, None] * width + columns[None, :])
        scores = tl.dot(q, tl.trans(k), input_precision=precision)
        if score_scale != 1:
            scores = scores * score_scale
        v = tl.load(values + places[:, None] * width_v + columns_v[None, :])
        maximum, total, result = _online_softmax(scores, v, maximum, total, result, exponent_scale, precision)
    for start in tl.range(unmasked_end, end, tile_kv):
        places = start + tl.arange(0, tile_kv)
        inside = places < seq_kv
        k = tl.load(keys + places[:, None] * width + columns[None, :], mask=inside[:, None], other=0.0)
        scores = tl.dot(q, tl.trans(k), input_precision=precision)
        if score_scale != 1:
            scores = scores * score_scale
        visible = inside[None, :]
        if causal:
            visible = visible & (places[None, :] <= rows[:, None] + shift)
        scores = tl.where(visible, scores, float("-inf"))
        v = tl.load(values + places[:, None] * width_v + columns_v[None, :], mask=inside[:, None], other=0.0)
        maximum, total, result = _online_softmax(scores, v, maximum, total, result, exponent_scale, precision)

    result = result / tl.where(total == 0.0, 1.0, total)[:, None]
    o_rows = output + head.to(tl.int64) * seq_q * width_v + rows[:, None] * width_v
    tl.store(o_rows + columns_v[None, :], result.to(q.dtype), mask=rows[:, None] < seq_q)


@triton.jit
def _online_softmax(scores, v, maximum, total, result, exponent_scale: tl.constexpr, precision: tl.constexpr):
    """Add a tile of keys: scores, which times `exponent_scale` are exponents of 2, and their rows of V."""
    grown = tl.maximum(maximum, tl.max(scores, 1) * exponent_scale)
    reference = tl.where(grown == float("-inf"), 0.0, grown)
    probabilities = tl.exp2(scores * exponent_scale - reference[:, None])
    rescale = tl.exp2(maximum - reference)
    total = total * rescale + tl.sum(probabilities, 1)
    result = tl.dot(probabilities.to(v.dtype), v, result * rescale[:, None], input_precision=precision)
    return grown, total, result
