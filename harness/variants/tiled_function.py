"""The frame that the tiled forms share: kernel functions over a grid of (batch, head, query tile).

Each kernel is a `func.func` on tensors whose body is one `scf.forall`; a target maps the grid to threads,
workgroups or warps.  The last function argument is written to and returned.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mlir import ir
from mlir.dialects import arith, func, scf

from harness.payloads import attention_steps as steps
from harness.payloads import builder as b
from harness.problem import AttentionProblem
from harness.variants.tiling import Tiling

BUFFER = "harness.buffer"
"""Argument attribute: which buffer this is, `query`, `key`, `value`, `output` or a workspace."""

DIMENSIONS = "harness.dimensions"
"""Argument attribute: the name of each dimension; a target decides by it what goes into vector lanes."""

FREE_LAYOUT = "harness.free_layout"
"""Argument attribute: scratch memory between kernels, which a target may store in any dimension order."""


@dataclass(frozen=True)
class KernelArgument:
    """A tensor that a kernel reads, or (the last one) writes."""

    buffer: str
    dimensions: tuple[str, ...]
    """Among them `query`, the dimension that is tiled over the grid."""
    shape: tuple[int, ...]
    dtype: str
    free_layout: bool = False

    def attributes(self) -> ir.DictAttr:
        """Return the function-argument attributes that carry this to the target."""
        attributes: dict[str, ir.Attribute] = {
            BUFFER: ir.StringAttr.get(self.buffer),
            DIMENSIONS: ir.ArrayAttr.get([ir.StringAttr.get(name) for name in self.dimensions]),
        }
        if self.free_layout:
            attributes[FREE_LAYOUT] = ir.UnitAttr.get()
        return ir.DictAttr.get(attributes)


def attention_arguments(problem: AttentionProblem) -> list[KernelArgument]:
    """Return Q, K, V and O."""
    query = ("batch", "head", "query", "width")
    key = ("batch", "head", "key", "width")
    return [
        KernelArgument("query", query, problem.q_shape, problem.dtype),
        KernelArgument("key", key, problem.k_shape, problem.dtype),
        KernelArgument("value", key, problem.v_shape, problem.dtype),
        KernelArgument("output", query, problem.output_shape, problem.dtype),
    ]


@dataclass(frozen=True)
class GridPoint:
    """Where one tile of queries stands."""

    batch: ir.Value
    head: ir.Value
    kv_head: ir.Value
    tile: ir.Value
    """Number of the query tile."""
    first_query: ir.Value


TileBody = Callable[[GridPoint, list[ir.Value], ir.Value], None]
"""Builds the tile from its grid point, the read-only tensors and the shared output; ends by publishing."""


def kernel(name: str, tiling: Tiling, arguments: Sequence[KernelArgument], build_tile: TileBody) -> None:
    """Add a kernel function to the current module.

    Args:
        name: symbol name.
        tiling: of the queries.
        arguments: the tensors, the output last.
        build_tile: adds the tile's operations.
    """
    problem = tiling.problem
    types = [b.tensor_type(argument.shape, argument.dtype) for argument in arguments]
    function = func.FuncOp(name, (types, [types[-1]]))
    function.arg_attrs = [argument.attributes() for argument in arguments]
    block = function.add_entry_block()
    with ir.InsertionPoint(block):
        *inputs, output = block.arguments
        loop = scf.ForallOp(
            [0, 0, 0], [problem.batch, problem.heads, tiling.query_tiles], [1, 1, 1], [output]
        )
        with ir.InsertionPoint(loop.body):
            batch, head, tile = loop.induction_variables
            build_tile(_grid_point(tiling, batch, head, tile), list(inputs), loop.inner_iter_args[0])
        func.ReturnOp([loop.results[0]])


def publish(
    tile: ir.Value, output: ir.Value, offsets: Sequence[ir.Value | int], sizes: Sequence[int]
) -> None:
    """End a tile: write it to its place in the kernel's output."""
    in_parallel = scf.InParallelOp()
    with ir.InsertionPoint(in_parallel.block):
        b.parallel_insert(tile, output, offsets, sizes)


def key_loop(
    first: ir.Value | int,
    end: ir.Value | int,
    carried: Sequence[ir.Value],
    body: Callable[..., Sequence[ir.Value]],
) -> list[ir.Value]:
    """Build a loop over key tiles `first … end` that carries tensors; none where it is statically empty."""
    if isinstance(first, int) and isinstance(end, int) and first >= end:
        return list(carried)
    lower, upper = (b.index(bound) if isinstance(bound, int) else bound for bound in (first, end))
    loop = scf.ForOp(lower, upper, b.index(1), list(carried))
    with ir.InsertionPoint(loop.body):
        scf.YieldOp(list(body(loop.induction_variable, *loop.inner_iter_args)))
    return list(loop.results)


def _grid_point(tiling: Tiling, batch: ir.Value, head: ir.Value, tile: ir.Value) -> GridPoint:
    problem = tiling.problem
    group = problem.group_size
    kv_head = head if group == 1 else b.affine_value(lambda h: ir.AffineExpr.get_floor_div(h, group), head)
    if problem.seq_q % tiling.query == 0:
        first_query = b.affine_value(lambda i: i * tiling.query, tile)
    else:
        first_query = b.affine_minimum(lambda i: [i * tiling.query, problem.seq_q - tiling.query], tile)
    return GridPoint(batch, head, kv_head, tile, first_query)


def load_query(query: ir.Value, tiling: Tiling, point: GridPoint) -> ir.Value:
    """Return a query tile `[padded_query, d]` in f32; padding rows are 0."""
    problem = tiling.problem
    tile = b.slice_of(
        query,
        [point.batch, point.head, point.first_query, 0],
        [1, 1, tiling.query, problem.head_dim],
        keep=[2, 3],
    )
    wide = steps.oriented_query(tile, problem.scale)
    if tiling.padded_query == tiling.query:
        return wide
    padded = b.filled(0.0, [tiling.padded_query, problem.head_dim])
    return b.insert(wide, padded, [0, 0], [tiling.query, problem.head_dim])


def load_keys(
    source: ir.Value, tiling: Tiling, point: GridPoint, first_key: ir.Value | int, keys: int
) -> ir.Value:
    """Return `keys` rows of K or V from `first_key` on, `[keys, width]` in f32."""
    width = b.shape_of(source)[-1]
    tile = b.slice_of(source, [point.batch, point.kv_head, first_key, 0], [1, 1, keys, width], keep=[2, 3])
    return steps.widened(tile)


def first_key_of(tiling: Tiling, tile: ir.Value) -> ir.Value:
    """Return where a key tile starts; the last one is shifted back to end with the sequence."""
    if tiling.keys_divide:
        return b.affine_value(lambda j: j * tiling.key, tile)
    last = tiling.problem.seq_kv - tiling.key
    return b.affine_minimum(lambda j: [j * tiling.key, last], tile)


def causal_visibility(tiling: Tiling, point: GridPoint, first_key: ir.Value | int) -> steps.Visible | None:
    """Return the causal mask of a score tile whose keys start at `first_key`, or None without one."""
    shift = tiling.problem.causal_shift
    if shift is None:
        return None
    query_base = _as_i32(point.first_query, shift)
    key_base = _as_i32(first_key)

    def visible(query: ir.Value, key: ir.Value) -> ir.Value:
        return arith.cmpi(arith.CmpIPredicate.sle, arith.addi(key, key_base), arith.addi(query, query_base))

    return visible


def once_visibility(tiling: Tiling, tile: ir.Value, first_key: ir.Value) -> steps.Visible | None:
    """Return the mask that hides, in a shifted-back last tile, the keys of the tile before it."""
    if tiling.keys_divide:
        return None
    repeated = arith.subi(_as_i32(b.affine_value(lambda j: j * tiling.key, tile)), _as_i32(first_key))
    return lambda query, key: arith.cmpi(arith.CmpIPredicate.sge, key, repeated)


def both(*masks: steps.Visible | None) -> steps.Visible | None:
    """Return the conjunction of those masks that exist."""
    present = [mask for mask in masks if mask is not None]
    if not present:
        return None

    def visible(query: ir.Value, key: ir.Value) -> ir.Value:
        conditions = [mask(query, key) for mask in present]
        result = conditions[0]
        for condition in conditions[1:]:
            result = arith.andi(result, condition)
        return result

    return visible


def store_output(
    accumulator: ir.Value, total: ir.Value | None, output: ir.Value, tiling: Tiling, point: GridPoint
) -> None:
    """Divide the accumulator by the row sums, where they are still to be divided by, and publish it.

    Padding rows are left out.
    """
    width = tiling.problem.head_dim_v
    sizes = [1, 1, tiling.query, width]
    offsets = [point.batch, point.head, point.first_query, 0]
    place = b.slice_of(output, offsets, sizes, keep=[2, 3])
    if tiling.padded_query != tiling.query:
        accumulator = b.slice_of(accumulator, [0, 0], [tiling.query, width], keep=[0, 1])
        total = total and b.slice_of(total, [0], [tiling.query], keep=[0])
    is_f32 = tiling.problem.dtype == "f32"
    wide_place = place if is_f32 else b.empty([tiling.query, width])
    if total is None:
        tile = steps.copied(accumulator, wide_place)
    else:
        tile = steps.divided_rows(accumulator, total, wide_place)
    publish(tile if is_f32 else steps.narrowed(tile, place), output, offsets, sizes)


def _as_i32(value: ir.Value | int, offset: int = 0) -> ir.Value:
    if isinstance(value, int):
        return b.integer(value + offset)
    narrow = arith.index_cast(ir.IntegerType.get_signless(32), value)
    return narrow if offset == 0 else arith.addi(narrow, b.integer(offset))
