"""Shape rules of the `attn` operations, which IRDL cannot express, with messages that say what to change."""

from collections.abc import Callable, Sequence

from mlir import ir

from harness.codegen.dialect.operations import (
    SOFTMAX_NAMES,
    Attention,
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
    root.operation.verify()
    for nested in operations_within(root.operation):
        verify_operation(nested)


def verify_operation(operation: ir.OpView) -> None:
    """Check one operation; those of other dialects pass."""
    if operation.name in _RULES:
        _RULES[operation.name](operation)


def _require(name: str, is_right: bool, complaint: str) -> None:
    if not is_right:
        raise VerificationError(f"{name}: {complaint}")


def _verify_batch_matmul(operation: ir.OpView) -> None:
    product = BatchMatmul(operation)
    name = f"{BatchMatmul.NAME} in layout {product.layout}"
    rank = product.product.type.rank
    values = {"lhs": product.lhs, "rhs": product.rhs, "product": product.product}
    for role, value in values.items():
        _require(
            name,
            value.type.rank == rank and rank >= 2,
            f"{role} has rank {value.type.rank}; expected the product's rank {rank}, at least 2",
        )
        own, expected = value.type.element_type, product.product.type.element_type
        are_floats = isinstance(own, ir.FloatType) and isinstance(expected, ir.FloatType)
        _require(
            name,
            own == expected or (are_floats and own.width < expected.width),
            f"{role} has elements {own}; expected {expected}, the product's, or narrower ones",
        )
    sizes: dict[str, tuple[str, int]] = {}
    for (role, value), letters in zip(values.items(), product.subscripts(), strict=True):
        for letter, size in zip(letters, value.type.shape, strict=True):
            first_role, first = sizes.setdefault(letter, (role, size))
            loop = letter if letter in "mnk" else f"batch {ord(letter) - ord('a')}"
            _require(
                name,
                size == first,
                f"dimension {loop} is {first} in {first_role} {_shape(values[first_role])} but {size} in "
                f"{role} {_shape(value)}",
            )


def _verify_softmax(operation: ir.OpView) -> None:
    name, softmax = operation.name, Softmax(operation)
    rank, full = softmax.x.type.rank, list(softmax.x.type.shape)
    _require(
        name,
        0 <= softmax.dimension < rank,
        f"dimension is {softmax.dimension}; expected 0 … {rank - 1} for x {_shape(softmax.x)}",
    )
    rows = full[: softmax.dimension] + full[softmax.dimension + 1 :]
    _require_shape(name, "probability_out", softmax.probability_out, full, "the shape of x")
    for role in ("initial_maximum", "initial_total", "correction_out"):
        reason = f"the shape of x without dimension {softmax.dimension}"
        _require_shape(name, role, getattr(softmax, role), rows, reason)
    element, *others = [value.type.element_type for value in operation.operands]
    for other in others:
        _require(name, other == element, f"operands of {element} and {other}; expected one element type")


def _verify_attention(operation: ir.OpView) -> None:
    attention, name = Attention(operation), Attention.NAME
    rank = attention.query.type.rank
    _require(name, rank >= 2, f"query has rank {rank}; expected at least 2")
    own_rank = attention.value.type.rank
    _require(name, own_rank == rank, f"value has rank {own_rank}; expected the query's rank {rank}")
    *batch, queries, depth = attention.query.type.shape
    keys, columns = list(attention.value.type.shape)[-2:]
    of_queries = f"as query {_shape(attention.query)} has"
    _require_shape(name, "key", attention.key, [*batch, keys, depth], f"{of_queries}, and value's keys")
    _require_shape(name, "value", attention.value, [*batch, keys, columns], of_queries)
    _require_shape(name, "init", attention.init, [*batch, queries, columns], "a row of value for each query")
    for role in ("initial_maximum", "initial_total"):
        _require_shape(name, role, getattr(attention, role), [*batch, queries], "a number for each query")
        _require_elements(name, role, getattr(attention, role), attention.init.type.element_type, "init's ")
    _require(name, attention.scale > 0, f"scale is {attention.scale}; expected more than 0")
    sizes = [*batch, queries, keys]
    for role, operand in attention.score_operands.items():
        axes = list(operand.axes)
        is_inside = all(0 <= axis <= rank - 1 for axis in axes) and len(set(axes)) == len(axes)
        _require(name, is_inside, f"{role}_axes {axes}; expected different ones of 0 … {rank - 1}")
        _require_shape(name, role, operand.value, [sizes[axis] for axis in axes], "the scores' on its axes")


def _verify_diag(operation: ir.OpView) -> None:
    diag = Diag(operation)
    shape = list(diag.x.type.shape)
    _require(Diag.NAME, bool(shape), "x has rank 0; expected at least 1")
    _require_shape(Diag.NAME, "result", diag.matrix, [*shape, shape[-1]], "x's shape, its last size twice")
    _require_elements(Diag.NAME, "result", diag.matrix, diag.x.type.element_type, "x's ")


def _verify_mask(operation: ir.OpView) -> None:
    mask = Mask(operation)
    _verify_inequalities(mask)
    _require_offsets(mask, len(operation.operands) - 1, mask.visible.n_symbols)


def _verify_length_mask(operation: ir.OpView) -> None:
    mask = LengthMask(operation)
    _verify_inequalities(mask)
    _require(
        mask.NAME,
        mask.visible.n_symbols == 1,
        f"visible is {mask.visible}; expected one symbol, which is the length",
    )
    _require_offsets(mask, len(mask.offsets), 0)
    reason = "a length for each element along x's first axis"
    _require_shape(mask.NAME, "lengths", mask.lengths, list(mask.x.type.shape)[:1], reason)
    _require_elements(mask.NAME, "lengths", mask.lengths, ir.IntegerType.get_signless(32))


def _verify_inequalities(mask: Mask | LengthMask) -> None:
    _require(
        mask.NAME,
        len(mask.visible.results) > 0,
        f"visible is {mask.visible}; expected at least one inequality",
    )
    for expression in mask.visible.results:
        try:
            AffineForm.of(expression)
        except ValueError as error:
            raise VerificationError(f"{mask.NAME}: {error}") from error


def _require_offsets(mask: Mask | LengthMask, indices: int, symbols: int) -> None:
    """Check the operands that are indices, and which of the map's dimensions the axes run along."""
    count, rank, along = mask.visible.n_dims, mask.x.type.rank, list(mask.dimensions)
    of_symbols = f" and one value for each symbol of {mask.visible}" if isinstance(mask, Mask) else ""
    _require(
        mask.NAME,
        indices == count + symbols,
        f"{indices} index operands; expected {count + symbols}, one offset for each dimension"
        f"{of_symbols or f' of {mask.visible}'}",
    )
    _require(
        mask.NAME,
        len(along) == rank,
        f"dimensions {along} for x of rank {rank}; expected one map dimension for each axis of x",
    )
    is_inside = all(0 <= dimension < count for dimension in along)
    _require(mask.NAME, is_inside, f"dimensions {along}; expected 0 … {count - 1}")


def _verify_row_mask(operation: ir.OpView) -> None:
    mask = RowMask(operation)
    rank = mask.x.type.rank
    _require(RowMask.NAME, rank >= 2, f"x has rank {rank}; expected at least 2")
    rows = list(mask.x.type.shape)[-2:-1]
    for role, bound in (("first", mask.first), ("end", mask.end)):
        _require_shape(RowMask.NAME, role, bound, rows, "one bound for each row of x")
        _require_elements(RowMask.NAME, role, bound, ir.IntegerType.get_signless(32))


def _require_shape(name: str, role: str, value: ir.Value, expected: Sequence[int], reason: str) -> None:
    wanted = "×".join(map(str, expected)) or "rank 0"
    is_right = list(value.type.shape) == list(expected)
    _require(name, is_right, f"{role} is {_shape(value)}; expected {wanted}, {reason}")


def _require_elements(name: str, role: str, value: ir.Value, expected: ir.Type, whose: str = "") -> None:
    element = value.type.element_type
    _require(name, element == expected, f"{role} has elements {element}; expected {whose}{expected}")


def _shape(value: ir.Value) -> str:
    return "×".join(map(str, value.type.shape)) or "rank 0"


_RULES: dict[str, Callable[[ir.OpView], None]] = {
    BatchMatmul.NAME: _verify_batch_matmul,
    **dict.fromkeys(SOFTMAX_NAMES, _verify_softmax),
    Attention.NAME: _verify_attention,
    Diag.NAME: _verify_diag,
    Mask.NAME: _verify_mask,
    LengthMask.NAME: _verify_length_mask,
    RowMask.NAME: _verify_row_mask,
}
