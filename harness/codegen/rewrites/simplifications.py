"""Rewrites that leave the result as it is and the IR simpler."""

from mlir import ir
from mlir.dialects import linalg, tensor

from harness.codegen.dialect import operations as attn
from harness.codegen.dialect.decomposition import rescaled_rows
from harness.codegen.ir import builder as b
from harness.codegen.ir.affine_form import AffineForm
from harness.codegen.ir.constants import constant_of_fill
from harness.codegen.ir.slices import mixed_values
from harness.codegen.ir.walk import operations_within
from harness.codegen.rewrites.dependencies import erase_dead
from harness.codegen.rewrites.errors import RewriteRefusedError
from harness.codegen.rewrites.ranges import add
from harness.codegen.rewrites.reshapes import pad_value


def fold_diagonal_products(root: ir.Module | ir.OpView) -> int:
    """Turn `diag(s) · X`, added to 0, into rows of X times s; returns how many there were."""
    count = 0
    for operation in _within(root, attn.BatchMatmul.NAME):
        product = attn.BatchMatmul(operation)
        diagonal = product.lhs
        is_diagonal = isinstance(diagonal, ir.OpResult) and diagonal.owner.name == attn.Diag.NAME
        if not is_diagonal or product.layout[1] != "n" or constant_of_fill(product.init) != 0.0:
            continue
        with ir.InsertionPoint(operation), operation.location:
            scaled = rescaled_rows(product.rhs, attn.Diag(ir.OpResult(diagonal).owner.opview).x)
        product.product.replace_all_uses_with(scaled)
        dead = [operation, ir.OpResult(diagonal).owner.opview, ir.OpResult(product.init).owner.opview]
        erase_dead(list(reversed(dead)))
        count += 1
    return count


def write_into_place(root: ir.Module | ir.OpView) -> int:
    """Let an elementwise operation write where its result is only copied to; returns how many there were."""
    count = 0
    for copy in _within(root, "linalg.generic"):
        if not _is_copy(copy):
            continue
        source, place = copy.operands[0], copy.operands[1]
        producer = ir.OpResult(source).owner.opview if isinstance(source, ir.OpResult) else None
        if producer is None or not _is_elementwise_to_new_tensor(producer) or len(list(source.uses)) != 1:
            continue
        if not isinstance(place, ir.BlockArgument) or producer.operation.block != copy.operation.block:
            continue
        producer.operands[len(producer.operands) - 1] = place
        copy.results[0].replace_all_uses_with(source)
        copy.operation.erase()
        count += 1
    return count


def decompose_all_pads(root: ir.Module | ir.OpView) -> int:
    """Turn every `tensor.pad` into a fill and an insert_slice; returns how many there were.

    Raises `RewriteRefusedError` for one that pads with values that depend on the position.
    """
    pads = _within(root, "tensor.pad")
    for pad in pads:
        value, source, result = pad_value(pad), pad.operands[0], pad.results[0]
        if value is None:
            raise RewriteRefusedError(pad, "it pads with values that depend on the position")
        with ir.InsertionPoint(pad), pad.location:
            lows, highs = mixed_values(pad, "low"), mixed_values(pad, "high")
            sizes = b.sizes_of(source)
            whole = [add(add(s, lo), hi) for s, lo, hi in zip(sizes, lows, highs, strict=True)]
            empty = tensor.empty(whole, source.type.element_type)
            made = b.insert(source, linalg.fill(value, outs=[empty]), lows, sizes)
            if made.type != result.type:
                made = tensor.cast(result.type, made)
        result.replace_all_uses_with(made)
        pad.operation.erase()
    return len(pads)


def erase_unused(root: ir.Module | ir.OpView) -> None:
    """Erase all operations whose results nothing uses; everything on tensors is free of side effects."""
    erase_dead(list(operations_within(root.operation)))


def merge_index_arithmetic(root: ir.Module | ir.OpView) -> int:
    """Compute equal index expressions of a block once; returns how many were dropped.

    Only these: merging equal tensors would let a loop write where another value still lies.
    """
    first_of_key: dict[tuple[object, ...], ir.OpView] = {}
    count = 0
    for nested in list(operations_within(root.operation)):
        if nested.name not in ("affine.apply", "affine.min", "affine.max"):
            continue
        key = (nested.name, nested.operation.block, str(nested.attributes["map"]), *nested.operands)
        first = first_of_key.setdefault(key, nested)
        if first is not nested:
            nested.results[0].replace_all_uses_with(first.results[0])
            nested.operation.erase()
            count += 1
    return count


def merge_masks(root: ir.Module | ir.OpView) -> int:
    """Join each mask with the one that masks the same tile before it; returns how many were joined.

    They must fill with the same number and stand at the same place of the whole tensor along the dimensions
    that the second one looks at.
    """
    count = 0
    for nested in _within(root, attn.Mask.NAME):
        first = _mask_before(attn.Mask(nested))
        if first is not None and _merge(first, attn.Mask(nested)):
            count += 1
    return count


def _within(root: ir.Module | ir.OpView, name: str) -> list[ir.OpView]:
    return [nested for nested in operations_within(root.operation) if nested.name == name]


def _is_copy(operation: ir.OpView) -> bool:
    block = operation.regions[0].blocks[0]
    operands = list(operation.operands)
    if len(operands) != 2 or operands[0].type != operands[1].type or len(block.operations) != 1:
        return False
    maps = list(ir.ArrayAttr(operation.attributes["indexing_maps"]))
    return block.operations[0].operands[0] == block.arguments[0] and maps[0] == maps[1]


def _is_elementwise_to_new_tensor(operation: ir.OpView) -> bool:
    if operation.name != "linalg.generic" or "reduction" in str(operation.attributes["iterator_types"]):
        return False
    init = operation.operands[len(operation.operands) - 1]
    return isinstance(init, ir.OpResult) and init.owner.name == "tensor.empty"


def _mask_before(mask: attn.Mask) -> attn.Mask | None:
    source = mask.x
    if not isinstance(source, ir.OpResult) or source.owner.name != attn.Mask.NAME:
        return None
    first = attn.Mask(source.owner.opview)
    return first if first.fill == mask.fill and len(list(source.uses)) == 1 else None


def _merge(first: attn.Mask, second: attn.Mask) -> bool:
    """Express the second mask in the first one's dimensions; its symbols follow the first one's."""
    same_axis = dict(zip(second.dimensions, first.dimensions, strict=True))
    forms = [AffineForm.of(expression) for expression in second.visible.results]
    for dimension in {dimension for form in forms for dimension in form.all_dimensions()}:
        target = same_axis.get(dimension)
        if target is None or second.offsets[dimension] != first.offsets[target]:
            return False
    symbols = first.visible.n_symbols
    moved = [_moved(form, same_axis, symbols) for form in forms]
    visible = ir.AffineMap.get(
        first.visible.n_dims, symbols + second.visible.n_symbols, [*first.visible.results, *moved]
    )
    with ir.InsertionPoint(second.operation), second.operation.location:
        merged = attn.mask(
            first.x,
            visible,
            first.offsets,
            [*first.symbols, *second.symbols],
            dimensions=first.dimensions,
            fill=first.fill,
        )
    second.masked.replace_all_uses_with(merged.masked)
    second.operation.operation.erase()
    first.operation.operation.erase()
    return True


def _moved(form: AffineForm, dimensions: dict[int, int], first_symbol: int) -> ir.AffineExpr:
    expression = ir.AffineConstantExpr.get(form.constant)
    for dimension, coefficient in form.dimensions.items():
        expression = expression + ir.AffineDimExpr.get(dimensions[dimension]) * coefficient
    for (dimension, modulus), coefficient in form.remainders.items():
        remainder = ir.AffineExpr.get_mod(ir.AffineDimExpr.get(dimensions[dimension]), modulus)
        expression = expression + remainder * coefficient
    for symbol, coefficient in form.symbols.items():
        expression = expression + ir.AffineSymbolExpr.get(first_symbol + symbol) * coefficient
    return expression
