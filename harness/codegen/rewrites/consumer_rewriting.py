"""Consumer rewriting: a softmax whose reduced dimension is tiled becomes a running one.

After the slides *Linalg Fusion Enhancement*.  When the loop over a matrix product's reduced dimension cuts
the reduced dimension of a softmax that feeds it, producer fusion alone would recompute the statistics of
whole rows.  Instead the loop carries the softmax's maximum and total from tile to tile, and the *consumer*
is rewritten: what has been accumulated so far is rescaled by the softmax's fourth result, `init ←
diag(correction) · init`.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from mlir import ir

from harness.codegen.dialect import operations as attn
from harness.codegen.ir import builder as b
from harness.codegen.ir.walk import producer_of
from harness.codegen.payloads.arguments import UNDOES_PADDING
from harness.codegen.rewrites.dependencies import needed_by
from harness.codegen.rewrites.errors import RewriteRefusedError
from harness.codegen.rewrites.structured import StructuredView, view_of

Tags = tuple[int | None, ...]
"""For each dimension of a value, the root's loop that cuts it."""


@dataclass(frozen=True)
class RunningSoftmax:
    """A softmax whose statistics a reduction loop carries."""

    softmax: attn.Softmax
    view: StructuredView
    """The softmax's loops."""
    tags: Tags
    """The root's loops along the scores' dimensions."""

    @property
    def row_tags(self) -> Tags:
        """The root's loops along the rows' dimensions."""
        return self.tags[: self.softmax.dimension] + self.tags[self.softmax.dimension + 1 :]


def running_softmaxes(
    root: StructuredView, tiled: frozenset[int], stop: frozenset[ir.Operation]
) -> list[RunningSoftmax]:
    """Find the softmaxes below the root whose reduced dimension a reduction loop of the root cuts.

    Raises `RewriteRefusedError` where one of them cannot be made a running one.
    """
    softmaxes: dict[ir.Operation, RunningSoftmax] = {}
    for value, tags in demanded_values(root, tiled, stop):
        view = view_of(producer_of(value))
        if view is None or view.operation.operation in stop or ir.OpResult(value).result_number != 0:
            continue
        if view.operation.name not in attn.SOFTMAX_NAMES:
            continue
        softmax = attn.Softmax(view.operation)
        loop = tags[softmax.dimension]
        if loop is None or not root.is_reduction[loop]:
            continue
        _check_consumer(root, softmax)
        _check_statistics(root, softmax)
        softmaxes[view.operation.operation] = RunningSoftmax(softmax, view, tags)
    return list(softmaxes.values())


def rescaled_init(correction: ir.Value, init: ir.Value) -> ir.Value:
    """Return `diag(correction) · init` at the current insertion point."""
    rows = b.sizes_of(correction)
    dtype = b.dtype_of(init)
    matrix = attn.diag(correction, b.empty([*rows, rows[-1]], dtype)).matrix
    zeros = b.filled(0.0, b.sizes_of(init), dtype)
    return attn.batch_matmul(matrix, init, zeros).product


def demanded_values(
    root: StructuredView, tiled: frozenset[int], stop: frozenset[ir.Operation]
) -> Iterator[tuple[ir.Value, Tags]]:
    """Yield the values of which a tile of the root needs tiles, with the root's loops that cut each."""
    pending: list[tuple[ir.Value, Tags]] = []
    seen: set[tuple[ir.Value, Tags]] = set()

    def demand(view: StructuredView, loop_tags: dict[int, int | None]) -> None:
        for operand, loops in zip(view.operation.operands, view.operand_loops, strict=True):
            pending.append((operand, tuple(loop_tags.get(loop) for loop in loops)))

    demand(root, {loop: loop for loop in tiled})
    while pending:
        value, tags = pending.pop()
        if (
            (value, tags) in seen
            or not isinstance(value, ir.OpResult)
            or not any(tag is not None for tag in tags)
        ):
            continue
        seen.add((value, tags))
        yield value, tags
        producer = ir.OpResult(value).owner.opview
        view = view_of(producer)
        if view is not None and view.operation.operation not in stop:
            result = ir.OpResult(value).result_number
            demand(view, dict(zip(view.result_loops[result], tags, strict=True)))
        elif UNDOES_PADDING in producer.attributes:
            pending.append((producer.operands[0], tags))


def _check_consumer(root: StructuredView, softmax: attn.Softmax) -> None:
    operation = softmax.operation
    value = softmax.probability
    while True:
        uses = list(value.uses)
        if len(uses) != 1:
            names = ", ".join(sorted(use.owner.name for use in uses))
            raise RewriteRefusedError(
                operation,
                f"its probabilities have {len(uses)} consumers ({names}); exactly one can be rewritten when "
                "the reduced dimension is tiled",
            )
        user = uses[0].owner.opview
        if user.operation == root.operation.operation:
            break
        if not _is_cast(user):
            raise RewriteRefusedError(
                operation,
                f"its consumer {user.name} is not the tiled root {root.operation.name}, nor a conversion",
            )
        value = user.results[0]
    if not is_rescalable(root.operation, uses[0].operand_number, softmax.dimension):
        raise RewriteRefusedError(
            operation,
            f"its consumer {root.operation.name} cannot be rescaled row by row: expected "
            f"{attn.BatchMatmul.NAME} with the probabilities as its lhs",
        )


def is_rescalable(consumer: ir.OpView, operand: int, dimension: int) -> bool:
    """Whether factors of a softmax's rows can be applied to its consumer's result instead.

    So it is where the consumer is a matrix product, the probabilities are its lhs, and the softmax runs along
    the dimension that the product reduces.
    """
    if consumer.name != attn.BatchMatmul.NAME or operand != 0:
        return False
    product = attn.BatchMatmul(consumer)
    return dimension == product.subscripts()[0].index("k")


def _check_statistics(root: StructuredView, softmax: attn.Softmax) -> None:
    """Check that the root needs nothing of the softmax but its probabilities: the rest is not known before
    the last tile."""
    if list(softmax.correction.uses):
        raise RewriteRefusedError(
            softmax.operation, "its correction (result #3) is used; a running softmax needs it"
        )
    needed = needed_by(root.operation)
    for name, value in (("maximum", softmax.maximum), ("total", softmax.total)):
        if any(use.owner.operation in needed for use in value.uses):
            raise RewriteRefusedError(
                softmax.operation, f"{root.operation.name} needs its {name}, too, which is known last"
            )


def _is_cast(operation: ir.OpView) -> bool:
    """Whether an elementwise operation only changes the element type, and so keeps factors."""
    if operation.name != "linalg.generic" or len(operation.operands) != 2:
        return False
    body = operation.regions[0].blocks[0].operations
    maps = [attribute.value for attribute in ir.ArrayAttr(operation.attributes["indexing_maps"])]
    return len(body) == 2 and body[0].name in ("arith.truncf", "arith.extf") and maps[0] == maps[1]
