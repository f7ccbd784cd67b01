"""Apply two masks of one tile in one pass over it."""

from mlir import ir

from harness.dialect import operations as attn
from harness.ir.affine_form import AffineForm
from harness.ir.walk import operations_within


def merge_masks(root: ir.Module | ir.OpView) -> int:
    """Join each mask with the one that masks the same tile before it; returns how many were joined.

    They must fill with the same number and stand at the same place of the whole tensor along the dimensions
    that the second one looks at.
    """
    operation = root.operation if isinstance(root, ir.Module) else root
    count = 0
    for nested in [found for found in operations_within(operation) if found.name == attn.Mask.NAME]:
        first = _mask_before(attn.Mask(nested))
        if first is not None and _merge(first, attn.Mask(nested)):
            count += 1
    return count


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
    """Return an inequality with other numbers for its dimensions and symbols."""
    expression = ir.AffineConstantExpr.get(form.constant)
    for dimension, coefficient in form.dimensions.items():
        expression = expression + ir.AffineDimExpr.get(dimensions[dimension]) * coefficient
    for (dimension, modulus), coefficient in form.remainders.items():
        remainder = ir.AffineExpr.get_mod(ir.AffineDimExpr.get(dimensions[dimension]), modulus)
        expression = expression + remainder * coefficient
    for symbol, coefficient in form.symbols.items():
        expression = expression + ir.AffineSymbolExpr.get(first_symbol + symbol) * coefficient
    return expression
