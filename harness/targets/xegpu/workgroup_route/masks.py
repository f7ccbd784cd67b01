"""The stage `masked`: scores that a query must not see become −∞, in the last tiles of keys.

MLIR's passes distribute no vector of numbers that count up, so masks are put in behind them: what a lane has
of scores is the result of a product, whose operands' loads say which rows of Q and K they are of.
"""

from mlir import ir
from mlir.dialects import arith, gpu, vector

from harness.codegen.ir.builder import index
from harness.codegen.ir.walk import operations_within, producer_of
from harness.system.errors import BuildError
from harness.targets.xegpu.workgroup_route.layouts import DPAS, LOAD
from harness.targets.xegpu.workgroup_route.tiles import RouteTiles

MASKED = "harness.masked"
"""Attribute of what scales scores that are masked: where its 16 keys begin in their tile.  MLIR keeps it."""
MOVES = ("vector.shape_cast", "vector.bitcast")


def mask_scores(kernel: ir.OpView, tiles: RouteTiles) -> None:
    """Mask the scaled scores that are marked in a kernel, in place."""
    for scaled in list(operations_within(kernel)):
        if MASKED not in scaled.attributes:
            continue
        uses = list(scaled.results[0].uses)
        with ir.InsertionPoint.after(scaled), scaled.location:
            masked = _masked(scaled, tiles)
        for use in uses:
            use.owner.operands[use.operand_number] = masked
        del scaled.attributes[MASKED]


def loaded(value: ir.Value) -> ir.OpView | None:
    """Return the load that a value comes from, as it is or reshaped."""
    producer = producer_of(value)
    while producer is not None and producer.name in MOVES:
        producer = producer_of(producer.operands[0])
    return producer if producer is not None and producer.name == LOAD else None


def _product(value: ir.Value) -> ir.OpView:
    """Return the product that a value is, as it is or reshaped."""
    producer = producer_of(value)
    while producer is not None and producer.name in MOVES:
        producer = producer_of(producer.operands[0])
    if producer is None or producer.name != DPAS:
        raise BuildError("expected scores that are a product, scaled")
    return producer


def _masked(scaling: ir.OpView, tiles: RouteTiles) -> ir.Value:
    scaled = scaling.results[0]
    rows, product = scaled.type.shape[0], _product(scaling.operands[0])
    of_query, of_key = (loaded(product.operands[number]) for number in range(2))
    if of_query is None or of_key is None:
        raise BuildError("expected scores that are a product of Q and K")
    query = arith.remui(of_query.operands[1], index(tiles.all_queries))
    first = arith.remui(of_key.operands[1], index(tiles.all_keys))
    key = arith.addi(first, gpu.lane_id())
    visible: list[ir.Value] = []
    truths = ir.VectorType.get([rows], ir.IntegerType.get_signless(1))
    if tiles.is_cut:
        chunk = ir.IntegerAttr(scaling.attributes[MASKED]).value
        last = index(tiles.all_keys - tiles.keys + chunk)
        is_other = arith.cmpi(arith.CmpIPredicate.ne, first, last)
        is_new = arith.cmpi(arith.CmpIPredicate.uge, key, index(tiles.all_keys // tiles.keys * tiles.keys))
        visible.append(vector.broadcast(truths, arith.ori(is_other, is_new)))
    if tiles.is_causal:
        word = ir.IntegerType.get_signless(32)
        words = ir.VectorType.get([rows], word)
        numbers = [ir.IntegerAttr.get(word, row + tiles.shift) for row in range(rows)]
        below = arith.constant(words, ir.DenseElementsAttr.get(numbers, words))
        last = arith.addi(vector.broadcast(words, arith.index_cast(word, query)), below)
        own = vector.broadcast(words, arith.index_cast(word, key))
        visible.append(arith.cmpi(arith.CmpIPredicate.sle, own, last))
    hidden = ir.FloatAttr.get(scaled.type.element_type, float("-inf"))
    nothing = arith.constant(scaled.type, ir.DenseElementsAttr.get_splat(scaled.type, hidden))
    seen = visible[0] if len(visible) == 1 else arith.andi(*visible)
    masked: ir.Value = arith.select(seen, scaled, nothing)
    return masked
