"""How a kernel holds and moves its tiles: what options ask for, and what chip and problem suggest else."""

from typing import Literal

from harness.problem.case import ParameterValue
from harness.system.errors import UnsupportedError
from harness.targets.base import TargetOptions
from harness.targets.gpu.tile_choice import WorkgroupTile
from harness.targets.gpu.vendor import Slots, Vendor

QueryOperand = Literal["registers", "shared-memory"]
RowSums = Literal["after-loop", "every-tile"]
OutputStores = Literal["wide", "direct"]
OperandLoads = Literal["one-step", "several-steps"]
ProductOrder = Literal["by-step", "by-fragment"]
Prefetches = Literal["next-tile", "none"]


class GpuOptions(TargetOptions):
    """How this harness's own kernels for GPUs are made; what is left open chip and problem decide."""

    query_operand: QueryOperand | None = None
    """Where products in a loop take Q from: registers that hold it, or shared memory each time; memory itself
    where nothing is staged."""
    staging_slots: Slots | None = None
    """Tiles of K, and of V, that shared memory holds at a time.  With one, each is copied while the product
    with the other goes on."""
    row_sums: RowSums | None = None
    """When lanes add up their parts of a row's sum."""
    output_stores: OutputStores | None = None
    """Whether results pass through shared memory, so that lanes store 16 bytes of a row, where that makes
    fewer stores and, at the end of a workgroup, needs no more memory; or are stored as lanes hold them."""
    operand_loads: OperandLoads | None = None
    """Steps of a product's depth that one load from shared memory is for, where an instruction loads several
    matrices: those of one step take the fewest registers."""
    product_order: ProductOrder | None = None
    """`by-step`: all fragments of a product take a step of its depth before the next one, and what a step
    needs stands just before it; `by-fragment`: one fragment after another, and tile after tile."""
    prefetches: Prefetches | None = None
    """Whether loops ask for the tiles of K and V of their next iteration, where lanes read them directly."""


DEFAULT = GpuOptions(query_operand="registers", staging_slots=2, output_stores="wide")
"""Of kernels that nothing is known of."""


def left_open(options: GpuOptions, strategy: GpuOptions) -> dict[str, ParameterValue]:
    """Return what options left open and there is a choice of, by their names."""
    asked = options.model_dump(exclude_none=True)
    decided = strategy.model_dump(exclude_none=True)
    return {name: value for name, value in decided.items() if name not in asked}


def choose(tile: WorkgroupTile, options: GpuOptions) -> GpuOptions:
    """Return what is decided for a tile: the options, and what they leave open.

    Where registers are full, Q leaves them, K and V have one slot each, and loads are for one step of a
    product.  Products go by step where K as a whole takes more registers than the vendor grants an operand.

    Raises `UnsupportedError` for prefetches that it has no form of.
    """
    operand = options.query_operand or ("registers" if tile.holds_query() else "shared-memory")
    holds_query = operand == "registers"
    is_full = tile.fills_registers(holds_query=holds_query)
    return GpuOptions(
        query_operand=operand,
        staging_slots=options.staging_slots or _slots(tile, holds_query=holds_query),
        row_sums=options.row_sums or ("every-tile" if _spares_loop(tile, is_full) else "after-loop"),
        output_stores=options.output_stores or "wide",
        operand_loads=options.operand_loads or ("one-step" if is_full else "several-steps"),
        product_order=options.product_order or ("by-step" if _goes_by_step(tile, is_full) else "by-fragment"),
        prefetches=_prefetches(tile.vendor, options),
    )


def _prefetches(vendor: Vendor, options: GpuOptions) -> Prefetches | None:
    if vendor.prefetches_tiles:
        return options.prefetches or "next-tile"
    if options.prefetches == "next-tile":
        raise UnsupportedError(f"prefetches=next-tile: kernels for {vendor.chip} prefetch nothing by tiles")
    return options.prefetches


def _goes_by_step(tile: WorkgroupTile, is_full: bool) -> bool:
    """Return whether products go by step.

    Not where registers are full and masks make a second loop, unless that spares the first one its
    spills: else it spills in either order, and the model prefers the order of fragments.
    """
    most = tile.vendor.most_operand_registers
    if most is None or tile.key_registers <= most:
        return False
    return not (is_full and tile.has_masked_loop) or _spares_loop(tile, is_full)


def _spares_loop(tile: WorkgroupTile, is_full: bool) -> bool:
    """Return whether a mask makes a second loop, and the first one can do without spills."""
    return is_full and tile.has_masked_loop and tile.vendor.spares_masked_loops


def _slots(tile: WorkgroupTile, *, holds_query: bool) -> Slots:
    staging = tile.vendor.staging
    most: Slots = 1 if staging is None else staging.slots
    if tile.iterations == 1 or tile.fills_registers(holds_query=holds_query):
        return 1
    with_one, with_most = (tile.resident(slots, holds_query=holds_query) for slots in (1, most))
    return 1 if with_one > with_most or with_most == 0 else most
