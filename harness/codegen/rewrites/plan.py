"""Which loops a tiling makes, and whether they may be made."""

from collections.abc import Sequence
from dataclasses import dataclass

from harness.codegen.dialect import operations as attn
from harness.codegen.ir import builder as b
from harness.codegen.rewrites.consumer_rewriting import RunningSoftmax
from harness.codegen.rewrites.dimensions import size_of
from harness.codegen.rewrites.errors import RewriteRefusedError
from harness.codegen.rewrites.repeated_elements import hiding_of
from harness.codegen.rewrites.structured import StructuredView, reads_place
from harness.codegen.rewrites.tiling_options import Ragged, TileOptions


@dataclass(frozen=True)
class TilingPlan:
    """The loops of a tiling of one operation."""

    view: StructuredView
    sizes: tuple[int, ...]
    """One for each loop of the operation, 0 for no loop; none larger than a static length."""
    parallel: tuple[int, ...]
    """Loops outside the first reduction loop, outermost first; all are parallel."""
    inner: tuple[int, ...]
    """The first reduction loop and all inside it, outermost first."""
    options: TileOptions

    @property
    def tiled(self) -> frozenset[int]:
        """All loops that are made."""
        return frozenset((*self.parallel, *self.inner))

    def length(self, loop: int) -> b.Size:
        """Return a loop's length; new operations go to the current insertion point."""
        return size_of(*self.view.axis_of_loop(loop))

    def divides(self, loop: int) -> bool:
        """Whether the tile size is known to divide the loop's length."""
        length = self.view.static_length(loop)
        return length is not None and length % self.sizes[loop] == 0

    def is_shifted(self, loop: int) -> bool:
        """Whether the loop's last tile is moved back."""
        is_static = self.view.static_length(loop) is not None
        return self.options.ragged is Ragged.SHIFTED and is_static and not self.divides(loop)

    def is_peeled(self, loop: int) -> bool:
        """Whether a rest follows after the loop."""
        is_candidate = self.options.ragged is Ragged.PEELED and self.view.is_reduction[loop]
        return is_candidate and not self.divides(loop)


def planned(
    view: StructuredView,
    tile_sizes: Sequence[int],
    interchange: Sequence[int] | None,
    options: TileOptions,
) -> TilingPlan:
    """Return the loops to make; raises `RewriteRefusedError` where they must not be made."""
    count = view.loop_count
    order = list(range(count) if interchange is None else interchange)
    if len(tile_sizes) != count or any(size < 0 for size in tile_sizes):
        raise RewriteRefusedError(
            view.operation, f"tile sizes {list(tile_sizes)}; expected {count} sizes ≥ 0"
        )
    if sorted(order) != list(range(count)):
        raise RewriteRefusedError(
            view.operation, f"interchange {order}; expected a permutation of 0 … {count - 1}"
        )
    lengths = [view.static_length(loop) for loop in range(count)]
    sizes = tuple(
        size if length is None else min(size, length)
        for size, length in zip(tile_sizes, lengths, strict=True)
    )
    loops = tuple(loop for loop in order if sizes[loop])
    first = next((n for n, loop in enumerate(loops) if view.is_reduction[loop]), len(loops))
    plan = TilingPlan(view, sizes, loops[:first], loops[first:], options)
    _check_grid(plan)
    _check_reductions(plan)
    _check_shifted_parallel_loops(plan)
    return plan


def check_seen_once(running: Sequence[RunningSoftmax], plan: TilingPlan) -> None:
    """Refuse loops that would take the same scores into a running softmax's statistics more than once.

    These are the loops from the first reduction on that cut no dimension of the scores.
    """
    for each in running:
        for loop in plan.inner:
            if loop not in each.tags:
                raise RewriteRefusedError(
                    each.softmax.operation,
                    f"loop {loop} inside the reduction does not cut its rows: each tile would be seen "
                    "repeatedly",
                )


def _check_grid(plan: TilingPlan) -> None:
    grid = plan.options.grid
    if grid not in (0, len(plan.parallel)):
        raise RewriteRefusedError(
            plan.view.operation,
            f"a grid of {grid} loops; expected all {len(plan.parallel)} parallel loops outside the "
            "reductions",
        )


def _check_reductions(plan: TilingPlan) -> None:
    view = plan.view
    reductions = [loop for loop in plan.inner if view.is_reduction[loop]]
    if not reductions:
        return
    if view.operation.name in attn.SOFTMAX_NAMES:
        raise RewriteRefusedError(
            view.operation,
            "its reduced dimension cannot be tiled with the softmax as the root: tile a matrix product "
            "that consumes its probabilities",
        )
    if not all(view.reads_init(result) for result in range(len(view.operation.results))):
        raise RewriteRefusedError(view.operation, "its reduction does not continue from an initial value")
    for loop in reductions:
        if plan.is_peeled(loop) and view.static_length(loop) is None:
            raise RewriteRefusedError(view.operation, "a rest can only be peeled where the length is static")
        if plan.is_shifted(loop):
            hiding_of(view, loop)


def _check_shifted_parallel_loops(plan: TilingPlan) -> None:
    view = plan.view
    if any(plan.is_shifted(loop) for loop in plan.inner if not view.is_reduction[loop]):
        raise RewriteRefusedError(
            view.operation,
            "a shifted tile of a parallel loop inside a reduction loop would be accumulated twice",
        )
    if not any(plan.is_shifted(loop) for loop in plan.parallel):
        return
    for result, operand in enumerate(view.init_operands):
        if view.reads_init(result) and reads_place(view.operation.operands[operand]):
            raise RewriteRefusedError(
                view.operation, "a shifted tile would continue from what the tile before has written"
            )
