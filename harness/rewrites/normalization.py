"""Where a softmax divides: at every step, or once at the end.

`attn.softmax` in a running form normalises every step: what is accumulated after any tile is exact attention
over the keys seen so far.  Deferring the division (FlashAttention-2) leaves the accumulator unnormalised and
divides its rows once, after the last tile.
"""

import numpy as np
from mlir import ir

from harness.dialect import operations as attn
from harness.dialect.decomposition import safe_quotient
from harness.mlir_walk import operations_within
from harness.payloads import builder as b
from harness.rewrites.dimensions import sizes_of
from harness.rewrites.errors import RewriteRefusedError


def defer_division(softmax: ir.OpView) -> ir.OpView:
    """Divide the rows of the matrix product that consumes the probabilities, not the probabilities.

    Returns the division.  Raises `RewriteRefusedError` where probabilities have another consumer, or the product
    starts from something other than 0.
    """
    view = attn.Softmax(softmax)
    consumers = [use.owner.opview for use in view.probability.uses]
    if len(consumers) != 1 or consumers[0].name != attn.BatchMatmul.NAME:
        names = ", ".join(consumer.name for consumer in consumers) or "none"
        raise RewriteRefusedError(
            softmax, f"its probabilities are consumed by {names}; expected one matrix product"
        )
    product = attn.BatchMatmul(consumers[0])
    if constant_of_fill(product.init) != 0.0:
        raise RewriteRefusedError(product.operation, "its initial value is not a fill with 0")
    if list(view.correction.uses):
        raise RewriteRefusedError(softmax, "its correction is used, which means something else without division")
    with ir.InsertionPoint(softmax), softmax.location:
        unnormalized = attn.softmax(
            *softmax.operands, dimension=view.dimension, scale=view.scale, normalized=False
        )
    for old, new in zip(softmax.results, unnormalized.operation.results, strict=True):
        old.replace_all_uses_with(new)
    softmax.operation.erase()
    return _divide_rows(product, unnormalized.total)


def _divide_rows(product: attn.BatchMatmul, total: ir.Value) -> ir.OpView:
    users = list(product.product.uses)
    rows = attn.loop_letters(total.type.rank)
    with ir.InsertionPoint.after(product.operation), product.operation.location:
        empty = b.empty(sizes_of(product.product), b.dtype_of(product.product))
        divided = b.structured(f"{rows}z,{rows}->{rows}z", [product.product, total], empty, safe_quotient)
    for use in users:
        use.owner.operands[use.operand_number] = divided
    return ir.OpResult(divided).owner.opview


def absorb_scale(softmax: ir.OpView) -> bool:
    """Take a multiplication of the scores by a constant into the exponent, where it costs nothing.

    max(c·x) = c·max(x) for c > 0, so that `softmax(c·x)` is the softmax of x with scale c, whose maximum is
    then that of x.  Looks through masks.  Returns whether there was one to take.
    """
    view = attn.Softmax(softmax)
    lowest = constant_of_fill(view.initial_maximum)
    if list(view.maximum.uses) or lowest is None or lowest > -1e29:
        return False
    masks: list[attn.Mask] = []
    value = view.x
    while isinstance(value, ir.OpResult) and value.owner.name == attn.Mask.NAME:
        masks.append(attn.Mask(value.owner.opview))
        value = masks[-1].x
    factor = _constant_factor(value)
    # A factor that f32 holds with less than full precision, or 0, would meet −inf.
    if factor is None or not np.float32(factor) >= np.finfo(np.float32).tiny:
        return False
    if any(mask.fill != -np.inf for mask in masks):
        return False
    unscaled = ir.OpResult(value).owner.operands[0]
    consumer = masks[-1].operation if masks else softmax
    consumer.operands[0] = unscaled
    element = view.x.type.element_type
    softmax.attributes["scale"] = ir.FloatAttr.get(element, view.scale * factor)
    return True


def softmaxes(root: ir.Module | ir.OpView) -> list[ir.OpView]:
    """Return the softmaxes within, normalised or not."""
    operation = root.operation if isinstance(root, ir.Module) else root
    return [nested for nested in operations_within(operation) if nested.name in attn.SOFTMAX_NAMES]


def constant_of_fill(value: ir.Value) -> float | None:
    """Return the number that a `linalg.fill` fills a value with, or None."""
    if not isinstance(value, ir.OpResult) or value.owner.name != "linalg.fill":
        return None
    scalar = value.owner.operands[0]
    if not isinstance(scalar, ir.OpResult) or scalar.owner.name != "arith.constant":
        return None
    return ir.FloatAttr(scalar.owner.attributes["value"]).value


def _constant_factor(value: ir.Value) -> float | None:
    """Return c of a structured operation that computes `c · x` and nothing else."""
    if not isinstance(value, ir.OpResult) or value.owner.name != "linalg.generic":
        return None
    body = [op for op in value.owner.regions[0].blocks[0].operations if op.name != "arith.constant"]
    if [op.name for op in body] != ["arith.mulf", "linalg.yield"]:
        return None
    for operand in body[0].operands:
        if isinstance(operand, ir.OpResult) and operand.owner.name == "arith.constant":
            return ir.FloatAttr(operand.owner.attributes["value"]).value
    return None
