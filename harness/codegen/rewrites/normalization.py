"""What a softmax does beside exponentials: where it divides, whether it takes in the scale of the scores, and
what its probabilities are multiplied by.

`attn.softmax` in a running form normalises every step: what is accumulated after any tile is exact attention
over the keys seen so far.  Deferring the division (FlashAttention-2) leaves the accumulator unnormalised and
divides its rows once, after the last tile.
"""

from dataclasses import dataclass

import numpy as np
from mlir import ir
from mlir.dialects import arith

from harness.codegen.dialect import operations as attn
from harness.codegen.dialect.decomposition import LARGEST_FUSED_FACTOR, safe_quotient, unshifted
from harness.codegen.ir import builder as b
from harness.codegen.ir.constants import constant_float, constant_of_fill
from harness.codegen.ir.walk import operations_within
from harness.codegen.rewrites.consumer_rewriting import is_rescalable
from harness.codegen.rewrites.errors import RewriteRefusedError


def defer_division(softmax: ir.OpView) -> ir.OpView:
    """Divide the rows of the matrix product that consumes the probabilities, not the probabilities.

    Returns the division.  Raises `RewriteRefusedError` where the probabilities have another consumer than
    one such product, or it starts from something other than 0.
    """
    view = attn.Softmax(softmax)
    uses = list(view.probability.uses)
    if len(uses) != 1 or not is_rescalable(uses[0].owner.opview, uses[0].operand_number, view.dimension):
        names = ", ".join(sorted(use.owner.name for use in uses)) or "nothing"
        raise RewriteRefusedError(
            softmax,
            f"its probabilities are consumed by {names}; expected one {attn.BatchMatmul.NAME} that has them "
            "as its lhs and reduces their rows",
        )
    product = attn.BatchMatmul(uses[0].owner.opview)
    if constant_of_fill(product.init) != 0.0:
        raise RewriteRefusedError(product.operation, "its initial value is not a fill with 0")
    if list(view.correction.uses):
        raise RewriteRefusedError(
            softmax, "its correction is used, which means something else without division"
        )
    with ir.InsertionPoint(softmax), softmax.location:
        unnormalized = attn.softmax(
            *softmax.operands,
            dimension=view.dimension,
            scale=view.scale,
            normalized=False,
            like=view,
        )
    for old, new in zip(softmax.results, unnormalized.operation.results, strict=True):
        old.replace_all_uses_with(new)
    softmax.operation.erase()
    return _divide_rows(product, unnormalized)


def _divide_rows(product: attn.BatchMatmul, softmax: attn.Softmax) -> ir.OpView:
    users = list(product.product.uses)
    rows = attn.loop_letters(softmax.total.type.rank)
    with ir.InsertionPoint.after(product.operation), product.operation.location:
        total = unshifted(softmax.total, softmax.shift)
        empty = b.empty_like(product.product)
        divided = b.structured(f"{rows}z,{rows}->{rows}z", [product.product, total], empty, safe_quotient)
    for use in users:
        use.owner.operands[use.operand_number] = divided
    return ir.OpResult(divided).owner.opview


def absorb_scale(softmax: ir.OpView) -> bool:
    """Take a multiplication of the scores by a constant into the exponent, where it costs nothing.

    max(c·x) = c·max(x) for c > 0, so that `softmax(c·x)` is the softmax of x with scale c, whose maximum is
    then that of x.  Looks through masks.  Returns whether there was one to take.  Of a c below
    −`LARGEST_FUSED_FACTOR` the size is taken and the sign stays, so that scores stay as small as without it.

    The softmax must start from nothing: no total, and a maximum so low that scaling it makes no difference.
    """
    view = attn.Softmax(softmax)
    lowest = constant_of_fill(view.initial_maximum)
    starts_from_nothing = (
        lowest is not None and lowest <= -1e29 and constant_of_fill(view.initial_total) == 0.0
    )
    if not starts_from_nothing:
        return False
    masks: list[attn.Mask | attn.LengthMask | attn.RowMask] = []
    value = view.x
    while isinstance(value, ir.OpResult) and value.owner.name in attn.MASKS:
        masks.append(attn.MASKS[value.owner.name](value.owner.opview))
        value = masks[-1].x
    scaled = _constant_factor(value)
    if scaled is None:
        return False
    size = abs(scaled.factor)
    is_taken_without_its_sign = scaled.factor < 0 and size > LARGEST_FUSED_FACTOR
    # A factor that f32 holds with less than full precision, or 0, would meet −inf.
    if not np.float32(size if is_taken_without_its_sign else scaled.factor) >= np.finfo(np.float32).tiny:
        return False
    if any(mask.fill != -np.inf or len(list(mask.masked.uses)) != 1 for mask in masks):
        return False
    consumer = masks[-1].operation if masks else softmax
    with ir.InsertionPoint(consumer), softmax.location:
        consumer.operands[0] = _multiplied(scaled.x, -1.0) if is_taken_without_its_sign else scaled.x
    _scale_uses(view.maximum, size)
    element = view.x.type.element_type
    softmax.attributes["scale"] = ir.FloatAttr.get(element, view.scale * size)
    return True


def shift_probabilities(softmax: ir.OpView, power: int) -> None:
    """Multiply probabilities by a power of two, and products with them by its inverse, in place.

    A product then takes probabilities that are normal numbers of its operands' type where they would not be.
    Softmax must be normalised, and its probabilities go into one product, element by element if not at once.
    """
    view = attn.Softmax(softmax)
    value = view.probability
    while ir.OpResult(value).owner.name != attn.BatchMatmul.NAME:
        (use,) = value.uses
        value = use.owner.results[0]
    for shifted in (view.total, value):
        _scale_uses(shifted, 2.0**-power)
    view.set_power(attn.SHIFT, power)


def _scale_uses(value: ir.Value, factor: float) -> None:
    uses = list(value.uses)
    if not uses:
        return
    producer = ir.OpResult(value).owner
    with ir.InsertionPoint.after(producer), producer.location:
        scaled = _multiplied(value, factor)
    for use in uses:
        use.owner.operands[use.operand_number] = scaled


def _multiplied(value: ir.Value, factor: float) -> ir.Value:
    dtype = b.dtype_of(value)
    return b.elementwise(value, lambda element: arith.mulf(element, b.constant(factor, dtype)))


def softmaxes(root: ir.Module | ir.OpView) -> list[ir.OpView]:
    """Return the softmaxes within, normalised or not."""
    return [nested for nested in operations_within(root.operation) if nested.name in attn.SOFTMAX_NAMES]


@dataclass(frozen=True)
class _Scaled:
    """`factor · x`."""

    x: ir.Value
    factor: float


def _constant_factor(value: ir.Value) -> _Scaled | None:
    if not isinstance(value, ir.OpResult) or value.owner.name != "linalg.generic":
        return None
    generic = value.owner
    body = [op for op in generic.regions[0].blocks[0].operations if op.name != "arith.constant"]
    if [op.name for op in body] != ["arith.mulf", "linalg.yield"] or body[1].operands[0] != body[0].results[
        0
    ]:
        return None
    maps = [attribute.value for attribute in ir.ArrayAttr(generic.attributes["indexing_maps"])]
    for left, right in (body[0].operands, reversed(list(body[0].operands))):
        factor = constant_float(left)
        if factor is None or not isinstance(right, ir.BlockArgument):
            continue
        operand = ir.BlockArgument(right).arg_number
        if maps[operand] == maps[-1]:
            return _Scaled(generic.operands[operand], factor)
    return None
