"""Consumer rewriting: a softmax whose reduced dimension is tiled becomes a running one.

After the slides *Linalg Fusion Enhancement*.  When the loop over a matrix product's reduced dimension cuts
the reduced dimension of a softmax that feeds it, producer fusion alone would recompute the statistics of
whole rows.  Instead the loop carries the softmax's maximum and total from tile to tile, and the *consumer*
is rewritten: what has been accumulated so far is rescaled by the softmax's fourth result, `init ←
diag(correction) · init`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mlir import ir

from harness.codegen.dialect import operations as attn
from harness.codegen.dialect.attention import rescaled_init
from harness.codegen.ir.walk import producer_of
from harness.codegen.payloads.arguments import UNDOES_PADDING
from harness.codegen.rewrites.dependencies import needed_by
from harness.codegen.rewrites.errors import RewriteRefusedError
from harness.codegen.rewrites.fusion import TileBuilder
from harness.codegen.rewrites.ranges import Ranges
from harness.codegen.rewrites.running import Cut, Running, Statistic, Tags
from harness.codegen.rewrites.structured import StructuredView, view_of


@dataclass(frozen=True)
class RunningSoftmax(Running):
    """A softmax whose statistics a reduction loop carries."""

    softmax: attn.Softmax
    view: StructuredView
    """The softmax's loops."""
    tags: Tags
    """The root's loops along the scores' dimensions."""

    @property
    def reductions(self) -> Sequence[tuple[ir.OpView, Tags]]:
        """The softmax."""
        return [(self.softmax.operation, self.tags)]

    @property
    def statistics(self) -> Sequence[Statistic]:
        """Maximum and total."""
        rows = self.tags[: self.softmax.dimension] + self.tags[self.softmax.dimension + 1 :]
        return [
            Statistic(self.softmax.maximum, rows, self.softmax.initial_maximum),
            Statistic(self.softmax.total, rows, self.softmax.initial_total),
        ]

    @property
    def rescales_root(self) -> bool:
        """The correction does."""
        return True

    def advance(self, builder: TileBuilder, cut: Cut, states: Mapping[ir.Value, ir.Value]) -> None:
        """Build the softmax on a tile of scores."""
        softmax, own, rows = self.softmax, self._scores(cut), self._rows(cut)
        statistics = {2: states[softmax.maximum], 3: states[softmax.total]}
        results = builder.operation(self.view, own, statistics)
        for value, result in zip(softmax.operation.results, results, strict=True):
            builder.provide(value, own if value == softmax.probability else rows, result)

    def rescaled(
        self, builder: TileBuilder, cut: Cut, states: Mapping[ir.Value, ir.Value], init: ir.Value
    ) -> ir.Value:
        """Return `diag(correction) · init`."""
        return rescaled_init(builder.tile(self.softmax.correction, self._rows(cut)), init)

    def _scores(self, cut: Cut) -> Ranges:
        return self.view.ranges({loop: cut[tag] for loop, tag in enumerate(self.tags) if tag is not None})

    def _rows(self, cut: Cut) -> Ranges:
        scores = self._scores(cut)
        return scores[: self.softmax.dimension] + scores[self.softmax.dimension + 1 :]


def running_softmaxes(
    root: StructuredView, tiled: frozenset[int], stop: frozenset[ir.Operation]
) -> list[RunningSoftmax]:
    """Find the softmaxes below the root whose reduced dimension a reduction loop of the root cuts.

    Raises `RewriteRefusedError` where one of them cannot be made a running one.
    """
    softmaxes: dict[ir.Operation, RunningSoftmax] = {}
    for value, tags in demanded_values(root, {loop: loop for loop in tiled}, stop):
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


def demanded_values(
    view: StructuredView, own_tags: Mapping[int, int | None], stop: frozenset[ir.Operation]
) -> Iterator[tuple[ir.Value, Tags]]:
    """Yield the values of which a tile of an operation needs tiles, with the root's loops that cut each.

    `own_tags` are those that cut the operation's loops.
    """
    pending: list[tuple[ir.Value, Tags]] = []
    seen: set[tuple[ir.Value, Tags]] = set()

    def demand(needing: StructuredView, loop_tags: Mapping[int, int | None]) -> None:
        for operand, loops in zip(needing.operation.operands, needing.operand_loops, strict=True):
            pending.append((operand, tuple(loop_tags.get(loop) for loop in loops)))

    demand(view, own_tags)
    while pending:
        value, tags = pending.pop()
        if (
            (value, tags) in seen
            or not isinstance(value.type, ir.RankedTensorType)
            or not any(tag is not None for tag in tags)
        ):
            continue
        seen.add((value, tags))
        yield value, tags
        if not isinstance(value, ir.OpResult):
            continue
        producer = ir.OpResult(value).owner.opview
        own_view = view_of(producer)
        if own_view is not None and producer.operation not in stop:
            result = ir.OpResult(value).result_number
            demand(own_view, dict(zip(own_view.result_loops[result], tags, strict=True)))
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
