"""Which loops a tiling makes, and whether they may be made."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mlir import ir

from harness.codegen.dialect import operations as attn
from harness.codegen.rewrites.errors import RewriteRefusedError
from harness.codegen.rewrites.places import reads_place
from harness.codegen.rewrites.repeated_elements import hiding_of
from harness.codegen.rewrites.running import Running
from harness.codegen.rewrites.structured import StructuredView


@dataclass(frozen=True)
class TileOptions:
    """How to tile and what to fuse."""

    grid: int = 0
    """How many of the outermost loops, all parallel, form one `scf.forall`."""
    drop: frozenset[int] = frozenset()
    """Loops whose tiles of one element leave no dimension in the tile."""
    peels_rest: bool = False
    """What becomes of the last tile of a reduction loop whose length no tile divides: it follows after the
    loop, with a size of its own.  Else, and in parallel loops, it is moved back to end with the dimension, so
    that all tiles have one size: what it shares with the tile before is computed twice in a parallel loop,
    and masked out in a reduction loop."""
    recompute: bool = False
    """Fuse also producers that are needed whole, which could be computed once outside."""
    carries_reductions: bool = False
    """Carry all reductions along the root's reduction loop that it depends on, also in plain linalg, and
    rescale what depends on them; else only softmaxes of the `attn` dialect."""
    init_outside: bool = True
    """The init rule.  Off, the initial value is made in every iteration, as the slides *Linalg Fusion
    Enhancement* first print it: wrong, and kept to show."""
    lengths: Mapping[int, ir.Value] = field(default_factory=dict)
    """Lengths of loops that are known only at run time, between a tile's and the loop's: the last tile is
    moved back to end there."""
    carries_whole: bool = False
    """Every loop carries all results and statistics whole: tiles are sliced and inserted innermost, as forms
    are printed.  Else loops outside all reductions carry results alone, and those inside only tiles."""


@dataclass(frozen=True)
class TilingPlan:
    """The loops of a tiling of one operation."""

    view: StructuredView
    sizes: tuple[int, ...]
    """One for each loop of the operation, 0 for no loop; none larger than the length, if that is known.  Else
    tiles have no static size, and the last one is as small as it has to be."""
    parallel: tuple[int, ...]
    """Loops that carry results only, outside the first reduction loop, outermost first; all are parallel."""
    inner: tuple[int, ...]
    """The first reduction loop and all inside it, outermost first; with `carries_whole` all loops."""
    options: TileOptions

    @property
    def tiled(self) -> frozenset[int]:
        """All loops that are made."""
        return frozenset((*self.parallel, *self.inner))

    def rest(self, loop: int) -> int:
        """Return how many elements of a loop no whole tile covers; 0 where only the run tells."""
        return self.view.length(loop) % self.sizes[loop] if self.view.has_length(loop) else 0

    def is_shifted(self, loop: int) -> bool:
        """Whether the loop's last tile is moved back."""
        return loop in self.options.lengths or (self.rest(loop) > 0 and not self.is_peeled(loop))

    def is_peeled(self, loop: int) -> bool:
        """Whether a rest follows after the loop."""
        return self.rest(loop) > 0 and self.options.peels_rest and self.view.is_reduction[loop]


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
    if any(tile_sizes[loop] for loop in view.uncut):
        raise RewriteRefusedError(
            view.operation,
            f"tile sizes {list(tile_sizes)}; expected 0 for loops {list(view.uncut)}, never cut",
        )
    sizes = tuple(
        min(size, view.length(loop)) if size and view.has_length(loop) else size
        for loop, size in enumerate(tile_sizes)
    )
    loops = tuple(loop for loop in order if sizes[loop])
    inner = (n for n, loop in enumerate(loops) if options.carries_whole or view.is_reduction[loop])
    first = next(inner, len(loops))
    plan = TilingPlan(view, sizes, loops[:first], loops[first:], options)
    _check_grid(plan)
    _check_reductions(plan)
    _check_shifted_parallel_loops(plan)
    return plan


def check_seen_once(running: Sequence[Running], plan: TilingPlan) -> None:
    """Refuse loops that would take the same elements into a running reduction more than once.

    These are the loops from the first reduction on that cut no dimension of what it reduces.
    """
    for operation, tags in [reduction for each in running for reduction in each.reductions]:
        for loop in plan.inner:
            if loop not in tags:
                raise RewriteRefusedError(
                    operation,
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
        if plan.is_shifted(loop):
            hiding_of(view, loop)


def _check_shifted_parallel_loops(plan: TilingPlan) -> None:
    view = plan.view
    if any(plan.is_shifted(loop) for loop in plan.inner if not view.is_reduction[loop]):
        raise RewriteRefusedError(
            view.operation,
            "a shifted tile of a parallel loop inside a reduction loop would be accumulated twice",
        )
    for result, operand in enumerate(view.init_operands):
        if view.reads_init(result):
            check_not_continued(plan, view.operation, view.operation.operands[operand])


def check_not_continued(plan: TilingPlan, operation: ir.OpView, initial: ir.Value) -> None:
    """Refuse shifted tiles of what goes on from an initial value that lies where it is written."""
    if any(plan.is_shifted(loop) for loop in plan.parallel) and reads_place(initial):
        raise RewriteRefusedError(
            operation, "a shifted tile would continue from what the tile before has written"
        )
