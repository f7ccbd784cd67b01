"""Shape rules of the `attn` operations, which IRDL cannot express, with messages that say what to change."""

from collections.abc import Callable, Sequence

from mlir import ir

from harness.codegen.dialect.operations import (
    LAYOUTS,
    SOFTMAX_NAMES,
    BatchMatmul,
    Diag,
    LengthMask,
    Mask,
    RowMask,
    Softmax,
)
from harness.codegen.ir.affine_form import AffineForm
from harness.codegen.ir.walk import operations_within
from harness.system.errors import BuildError


class VerificationError(BuildError):
    """An operation of the dialect is ill-formed."""


def verify(root: ir.Module | ir.OpView) -> None:
    """Check the IR with MLIR's verifier, then every `attn` operation in it.

    Raises `VerificationError`, which names the operation, what was found and what was expected.
    """
    operation = root.operation if isinstance(root, ir.Module) else root
    operation.verify()
    for nested in operations_within(operation):
        verify_operation(nested)


def verify_operation(operation: ir.OpView) -> None:
    """Check one operation; those of other dialects pass."""
    if operation.name in _RULES:
        _RULES[operation.name](operation)


def _verify_batch_matmul(product: BatchMatmul) -> None:
    name = f"{BatchMatmul.NAME} in layout {product.layout}"
    if product.layout not in LAYOUTS:
        raise VerificationError(f"{name}: expected one of {', '.join(LAYOUTS)}")
    rank = product.product.type.rank
    values = {"lhs": product.lhs, "rhs": product.rhs, "product": product.product}
    for role, value in values.items():
        if value.type.rank != rank or rank < 2:
            raise VerificationError(
                f"{name}: {role} has rank {value.type.rank}; expected the product's rank {rank}, at least 2"
            )
        _expect_no_wider(name, role, value, product.product)
    sizes: dict[str, tuple[str, int]] = {}
    for (role, value), letters in zip(values.items(), product.subscripts(), strict=True):
        for axis, letter in enumerate(letters):
            size = value.type.shape[axis]
            first_role, first = sizes.setdefault(letter, (role, size))
            if not _agree(first, size):
                raise VerificationError(
                    f"{name}: dimension {_loop_name(letter)} is {_size(first)} in {first_role} "
                    f"{_shape(values[first_role])} but {_size(size)} in {role} {_shape(value)}"
                )


def _verify_softmax(softmax: Softmax) -> None:
    name = softmax.operation.name
    rank = softmax.x.type.rank
    if not 0 <= softmax.dimension < rank:
        raise VerificationError(
            f"{name}: dimension is {softmax.dimension}; expected 0 … {rank - 1} for x {_shape(softmax.x)}"
        )
    full = list(softmax.x.type.shape)
    rows = full[: softmax.dimension] + full[softmax.dimension + 1 :]
    _expect_shape(name, "probability_out", softmax.probability_out, full, "the shape of x")
    for role in ("initial_maximum", "initial_total", "correction_out"):
        reason = f"the shape of x without dimension {softmax.dimension}"
        _expect_shape(name, role, getattr(softmax, role), rows, reason)
    element = softmax.x.type.element_type
    for value in list(softmax.operation.operands)[1:]:
        if value.type.element_type != element:
            raise VerificationError(
                f"{name}: operands of {element} and {value.type.element_type}; expected one element type"
            )


def _verify_diag(diag: Diag) -> None:
    shape = list(diag.x.type.shape)
    if not shape:
        raise VerificationError(f"{Diag.NAME}: x has rank 0; expected at least 1")
    _expect_shape(Diag.NAME, "result", diag.matrix, [*shape, shape[-1]], "x's shape, its last size twice")
    elements = [value.type.element_type for value in (diag.x, diag.matrix)]
    if elements[0] != elements[1]:
        raise VerificationError(f"{Diag.NAME}: result has elements {elements[1]}; expected x's {elements[0]}")


def _verify_mask(mask: Mask) -> None:
    visible = mask.visible
    _verify_inequalities(mask)
    expected = visible.n_dims + visible.n_symbols
    count = len(mask.operation.operands) - 1
    if count != expected:
        raise VerificationError(
            f"{Mask.NAME}: {count} index operands; expected {expected}, one offset for each dimension and "
            f"one value for each symbol of {visible}"
        )
    _verify_dimensions(mask)


def _verify_length_mask(mask: LengthMask) -> None:
    visible, lengths = mask.visible, mask.lengths
    _verify_inequalities(mask)
    if visible.n_symbols != 1:
        raise VerificationError(
            f"{LengthMask.NAME}: visible is {visible}; expected one symbol, which is the length"
        )
    if len(mask.offsets) != visible.n_dims:
        raise VerificationError(
            f"{LengthMask.NAME}: {len(mask.offsets)} index operands; expected {visible.n_dims}, one offset "
            f"for each dimension of {visible}"
        )
    _verify_dimensions(mask)
    reason = "a length for each element along x's first axis"
    _expect_shape(LengthMask.NAME, "lengths", lengths, list(mask.x.type.shape)[:1], reason)
    if str(lengths.type.element_type) != "i32":
        raise VerificationError(
            f"{LengthMask.NAME}: lengths has elements {lengths.type.element_type}; expected i32"
        )


def _verify_dimensions(mask: Mask | LengthMask) -> None:
    count = mask.visible.n_dims
    if len(mask.dimensions) != mask.x.type.rank:
        raise VerificationError(
            f"{mask.NAME}: dimensions {list(mask.dimensions)} for x of rank {mask.x.type.rank}; "
            "expected one map dimension for each axis of x"
        )
    if not all(0 <= dimension < count for dimension in mask.dimensions):
        raise VerificationError(f"{mask.NAME}: dimensions {list(mask.dimensions)}; expected 0 … {count - 1}")


def _verify_inequalities(mask: Mask | LengthMask) -> None:
    if not mask.visible.results:
        raise VerificationError(f"{mask.NAME}: visible is {mask.visible}; expected at least one inequality")
    for expression in mask.visible.results:
        try:
            AffineForm.of(expression)
        except ValueError as error:
            raise VerificationError(f"{mask.NAME}: {error}") from error


def _verify_row_mask(mask: RowMask) -> None:
    if mask.x.type.rank < 2:
        raise VerificationError(f"{RowMask.NAME}: x has rank {mask.x.type.rank}; expected at least 2")
    rows = list(mask.x.type.shape)[-2:-1]
    for role, bound in (("first", mask.first), ("end", mask.end)):
        _expect_shape(RowMask.NAME, role, bound, rows, "one bound for each row of x")
        if str(bound.type.element_type) != "i32":
            raise VerificationError(
                f"{RowMask.NAME}: {role} has elements {bound.type.element_type}; expected i32"
            )


def _expect_no_wider(name: str, role: str, value: ir.Value, product: ir.Value) -> None:
    own, expected = value.type.element_type, product.type.element_type
    are_floats = isinstance(own, ir.FloatType) and isinstance(expected, ir.FloatType)
    if own != expected and not (are_floats and own.width < expected.width):
        raise VerificationError(
            f"{name}: {role} has elements {own}; expected {expected}, the product's, or narrower ones"
        )


def _expect_shape(name: str, role: str, value: ir.Value, expected: Sequence[int], reason: str) -> None:
    shape = list(value.type.shape)
    if len(shape) != len(expected) or not all(map(_agree, shape, expected)):
        wanted = "×".join(map(_size, expected)) or "rank 0"
        raise VerificationError(f"{name}: {role} is {_shape(value)}; expected {wanted}, {reason}")


def _agree(left: int, right: int) -> bool:
    dynamic = ir.ShapedType.get_dynamic_size()
    return left == right or dynamic in (left, right)


def _size(size: int) -> str:
    return "?" if size == ir.ShapedType.get_dynamic_size() else str(size)


def _shape(value: ir.Value) -> str:
    return "×".join(_size(size) for size in value.type.shape) or "rank 0"


_RULES: dict[str, Callable[[ir.OpView], None]] = {
    BatchMatmul.NAME: lambda operation: _verify_batch_matmul(BatchMatmul(operation)),
    **dict.fromkeys(SOFTMAX_NAMES, lambda operation: _verify_softmax(Softmax(operation))),
    Diag.NAME: lambda operation: _verify_diag(Diag(operation)),
    Mask.NAME: lambda operation: _verify_mask(Mask(operation)),
    LengthMask.NAME: lambda operation: _verify_length_mask(LengthMask(operation)),
    RowMask.NAME: lambda operation: _verify_row_mask(RowMask(operation)),
}


def _loop_name(letter: str) -> str:
    return letter if letter in "mnk" else f"batch {ord(letter) - ord('a')}"
