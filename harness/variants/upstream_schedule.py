"""Steps by MLIR's own tile-and-fuse: the transform dialect on plain linalg, each script as text.

`transform.structured.fuse` tiles an operation and fuses its producers greedily, as the slides *Linalg Fusion
Enhancement* describe it.  One step puts the script beside the kernels, where it can be read; the next one
runs it.  MLIR also fuses the fill that a reduction starts from, so that every tile would start from it again.
It does not fuse a constant, so initial values are constants while it works.
"""

from collections.abc import Callable, Sequence
from string import Template

from mlir import ir
from mlir.dialects import arith, linalg

from harness.codegen.dialect.decomposition import decompose_all
from harness.codegen.ir import builder as b
from harness.codegen.ir.constants import constant_of_fill
from harness.codegen.ir.walk import operations_within
from harness.codegen.payloads.attention_steps import stored
from harness.codegen.rewrites.places import place_of
from harness.codegen.rewrites.simplifications import erase_unused
from harness.codegen.rewrites.structured import view_of
from harness.targets.lowering.transforms import run_script
from harness.variants.attention_schedule import INSERTION
from harness.variants.schedule import Step

ROOT = "harness.root"
"""Marks what a script tiles."""

WITH_SCRIPT = "transform.with_named_sequence"
SEQUENCE = "transform.named_sequence"

FUSION = Template("""
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%module: !transform.any_op {transform.readonly}) {
    %root = transform.structured.match attributes {harness.root} in %module
        : (!transform.any_op) -> !transform.any_op
    %tile, %loops:$count = transform.structured.fuse %root tile_sizes $sizes interchange $order
        : (!transform.any_op) -> (!transform.any_op, $types)$peeling
    %scope = transform.structured.match ops{["$scope"]} in %module
        : (!transform.any_op) -> !transform.any_op
    transform.apply_cse to %scope : !transform.any_op
    transform.apply_patterns to %scope {
      transform.apply_patterns.linalg.tiling_canonicalization
      transform.apply_patterns.canonicalization
      transform.apply_patterns.tensor.fold_tensor_empty
    } : !transform.any_op
    transform.yield
  }
}
""")
"""Tile, fuse producers, merge what is computed twice."""

PEELING = """
    %main{number}, %rest{number} = transform.loop.peel %loops#{number}
        : (!transform.op<"scf.for">) -> (!transform.any_op, !transform.any_op)"""
"""The last, smaller tile of a loop gets a copy of the loop's body, in which its size is known."""


def plain_linalg(module: ir.Module) -> None:
    """Turn all of the `attn` dialect into linalg, so that upstream sees nothing else."""
    decompose_all(module)
    erase_unused(module)


def contractions(module: ir.Module) -> list[ir.OpView]:
    """Return the products of matrices in linalg, in order."""
    generics = [op for op in operations_within(module.operation) if op.operation.name == "linalg.generic"]
    views = [view for generic in generics if (view := view_of(generic)) is not None]
    return [view.operation for view in views if view.loop_count > 2 and sum(view.is_reduction) == 1]


def fusion(
    find_root: Callable[[ir.Module], ir.OpView],
    sizes: Sequence[int],
    order: Sequence[int],
    *,
    keeps_fill: bool = False,
) -> list[Step]:
    """Return the steps by which upstream tiles what is found and fuses its producers.

    With `keeps_fill` the root starts from a fill inside its loops, which is wrong, and kept to show.
    """
    order_of_loops = f"loops {list(order)} in tiles {list(sizes)}"
    script = Step(
        "transform-script",
        f"transform.structured.fuse, {order_of_loops}, beside what it is for",
        lambda module: _add_script(module, find_root(module), sizes, order, keeps_fill=keeps_fill),
    )
    return [script, Step("fused", "as MLIR's transform interpreter leaves it", _run)]


def _add_script(
    module: ir.Module, root: ir.OpView, sizes: Sequence[int], order: Sequence[int], *, keeps_fill: bool
) -> None:
    root.attributes[ROOT] = ir.UnitAttr.get()
    if not keeps_fill:
        _start_from_constant(root)
    loops = [loop for loop in order if sizes[loop]]
    view = view_of(root)
    assert view is not None
    peeled = [number for number, loop in enumerate(loops) if view.length(loop) % sizes[loop]]
    text = FUSION.substitute(
        scope=root.operation.parent.name,
        count=len(loops),
        sizes=list(sizes),
        order=list(order),
        types=", ".join(['!transform.op<"scf.for">'] * len(loops)),
        peeling="".join(PEELING.format(number=number) for number in reversed(peeled)),
    )
    script = ir.Module.parse(text)
    module.operation.attributes[WITH_SCRIPT] = ir.UnitAttr.get()
    module.body.append(script.body.operations[0].operation.clone(ip=False))


def _run(module: ir.Module) -> None:
    """Run the script that is in a module, which is then gone."""
    (sequence,) = [op for op in module.body.operations if op.operation.name == SEQUENCE]
    text = f"module attributes {{{WITH_SCRIPT}}} {{\n{sequence}\n}}"
    sequence.operation.erase()
    del module.operation.attributes[WITH_SCRIPT]
    run_script(module, text)
    for operation in list(operations_within(module.operation)):
        if ROOT in operation.attributes:
            del operation.attributes[ROOT]
        if operation.operation.name == INSERTION and not _is_stored(operation.operands[0]):
            _store_in_place(operation)
        if operation.operation.name == "arith.constant" and isinstance(
            operation.results[0].type, ir.RankedTensorType
        ):
            _fill_instead(operation)


def _is_stored(tile: ir.Value) -> bool:
    """Whether an operation of its own writes a tile to its place; MLIR folds one that only copies."""
    place = place_of(tile)
    return isinstance(place, ir.OpResult) and place.owner.name == "tensor.extract_slice"


def _start_from_constant(root: ir.OpView) -> None:
    """Let a reduction start from a constant tensor."""
    number = len(root.operands) - 1
    initial = root.operands[number]
    value = constant_of_fill(initial)
    assert value is not None
    with ir.InsertionPoint(root), root.location:
        element = ir.FloatAttr.get(initial.type.element_type, value)
        root.operands[number] = arith.ConstantOp(
            initial.type, ir.DenseElementsAttr.get_splat(initial.type, element)
        ).result
    if not list(initial.uses):
        ir.OpResult(initial).owner.erase()


def _fill_instead(constant: ir.OpView) -> None:
    """Fill a tensor with the number that is each element of a constant."""
    result = constant.results[0]
    value = ir.DenseElementsAttr(constant.attributes["value"]).get_splat_value()
    with ir.InsertionPoint(constant), constant.location:
        scalar = arith.ConstantOp(result.type.element_type, value).result
        filled = linalg.fill(scalar, outs=[b.empty_like(result)])
    result.replace_all_uses_with(filled)
    constant.operation.erase()


def _store_in_place(insertion: ir.OpView) -> None:
    """Let a grid's tile be stored by an operation of its own, which can be tiled like any other."""
    forall = insertion.operation.parent.parent.opview
    axes = len(ir.DenseI64ArrayAttr(forall.attributes["staticUpperBound"]))
    points = list(forall.regions[0].blocks[0].arguments)[:axes]
    tile, shared = list(insertion.operands)[:2]
    place = [*points, *[0] * tile.type.rank]
    sizes = [1] * len(points) + list(tile.type.shape)
    with ir.InsertionPoint(insertion.operation.parent), insertion.location:
        target = b.slice_of(shared, place, sizes, range(len(points), len(sizes)))
        insertion.operation.operands[0] = stored(tile, target)
