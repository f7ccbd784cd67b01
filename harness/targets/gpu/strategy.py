"""How a kernel holds and moves its tiles: what options ask for, and what chip and problem suggest else."""

from typing import Annotated, Literal

from harness.experiment.searched import Searched
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
Copies = Literal["before-scores", "behind-scores"]
Prefetches = Literal["next-tile", "none"]
OutputSums = Literal["f32", "f16"]
RowExchange = Literal["f32", "packed-f16"]


class GpuOptions(TargetOptions):
    """How this harness's own kernels for GPUs are made; what is left open chip and problem decide."""

    query_operand: Annotated[QueryOperand | None, Searched()] = None
    """Where products in a loop take Q from: registers that hold it, or shared memory each time; memory itself
    where nothing is staged."""
    staging_slots: Annotated[Slots | None, Searched()] = None
    """Tiles of K, and of V, that shared memory holds at a time.  With one, each is copied while the product
    with the other goes on."""
    copies: Annotated[Copies | None, Searched()] = None
    """When a loop with two slots starts to copy its next tiles: before it computes scores, or behind them,
    where those of a page are looked up meanwhile."""
    row_sums: Annotated[RowSums | None, Searched()] = None
    """When lanes add up their parts of a row's sum."""
    output_stores: Annotated[OutputStores | None, Searched(is_modelled=False)] = None
    """Whether results pass through shared memory, so that lanes store 16 bytes of a row, where that makes
    fewer stores and, at the end of a workgroup, needs no more memory; or are stored as lanes hold them."""
    operand_loads: Annotated[OperandLoads | None, Searched()] = None
    """Steps of a product's depth that one load from shared memory is for, where an instruction loads several
    matrices: those of one step take the fewest registers."""
    product_order: Annotated[ProductOrder | None, Searched()] = None
    """`by-step`: all fragments of a product take a step of its depth before the next one, and what a step
    needs stands just before it; `by-fragment`: one fragment after another, and tile after tile."""
    prefetches: Annotated[Prefetches | None, Searched()] = None
    """Whether loops ask for the tiles of K and V of their next iteration, where lanes read them directly."""
    output_sums: OutputSums | None = None
    """What the product with V adds up in, f32 where not set; f16 takes half the registers, rounds more."""
    row_exchange: RowExchange | None = None
    """How lanes exchange numbers of rows, in f32 where not set; `packed-f16` has two rows in a register."""


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

    Raises `UnsupportedError` for copies and prefetches that it has no form of.
    """
    operand = options.query_operand or ("registers" if tile.holds_query() else "shared-memory")
    holds_query = operand == "registers"
    is_full = tile.fills_registers(holds_query=holds_query)
    spares_loop = is_full and not holds_query and _can_spare_loop(tile)
    slots = options.staging_slots or _slots(tile, holds_query=holds_query)
    return GpuOptions(
        query_operand=operand,
        staging_slots=slots,
        copies=_copies(tile, options, slots),
        row_sums=options.row_sums or ("every-tile" if spares_loop else "after-loop"),
        output_stores=options.output_stores or "wide",
        operand_loads=options.operand_loads
        or ("one-step" if is_full or _has_packed_band(tile) else "several-steps"),
        product_order=options.product_order
        or ("by-step" if _goes_by_step(tile, spares_loop or not is_full) else "by-fragment"),
        prefetches=_prefetches(tile.vendor, options),
        output_sums=_output_sums(tile, options),
        row_exchange=options.row_exchange,
    )


def _output_sums(tile: WorkgroupTile, options: GpuOptions) -> OutputSums | None:
    dtype, chip = tile.problem.dtype, tile.vendor.chip
    if options.output_sums == "f16" and not (dtype == "f16" and tile.vendor.sums_in_halves):
        raise UnsupportedError(
            f"output_sums=f16: no matrix instruction of {chip} adds up {dtype} in f16 here"
        )
    return options.output_sums


def _copies(tile: WorkgroupTile, options: GpuOptions, slots: Slots) -> Copies | None:
    """Return when the next tiles are copied, None where copies take turns or pass through registers.

    Beside what packed rows see, warps with two bands have few registers left for both at once, copies and
    loads for scores: the model prefers the one after the other.
    """
    staging = tile.vendor.staging
    if slots > 1 and staging is not None and not staging.is_through_registers:
        is_late = tile.is_packed and not tile.has_one_band
        return options.copies or ("behind-scores" if is_late else "before-scores")
    if options.copies is not None:
        chip = tile.vendor.chip
        raise UnsupportedError(f"copies={options.copies}: kernels for {chip} copy no tiles ahead to a slot")
    return None


def _prefetches(vendor: Vendor, options: GpuOptions) -> Prefetches | None:
    if vendor.prefetches_tiles:
        return options.prefetches or "next-tile"
    if options.prefetches == "next-tile":
        raise UnsupportedError(f"prefetches=next-tile: kernels for {vendor.chip} prefetch nothing by tiles")
    return options.prefetches


def _goes_by_step(tile: WorkgroupTile, has_room: bool) -> bool:
    """Return whether products go by step.

    Not where loops have no room without spills and masks make a second one: it spills in either order, and
    the model prefers that of fragments.
    """
    most = tile.vendor.most_operand_registers
    return most is not None and tile.key_registers > most and (has_room or not tile.has_masked_loop)


def _has_packed_band(tile: WorkgroupTile) -> bool:
    """Return whether warps have one band of packed rows.

    Beside what such rows see, loads for several steps cost a resident workgroup.
    """
    return tile.is_packed and tile.has_one_band


def _can_spare_loop(tile: WorkgroupTile) -> bool:
    """Return whether a mask makes a second loop, and the first one can do without spills."""
    return tile.has_masked_loop and tile.vendor.spares_masked_loops


def _slots(tile: WorkgroupTile, *, holds_query: bool) -> Slots:
    staging = tile.vendor.staging
    most: Slots = 1 if staging is None else staging.slots
    if tile.iterations == 1 or tile.fills_registers(holds_query=holds_query):
        return 1
    with_one, with_most = (tile.resident(slots, holds_query=holds_query) for slots in (1, most))
    return 1 if with_one > with_most or with_most == 0 else most
