"""The pipeline for every GPU: from tiled kernels on tensors to a device's code, stage by stage."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mlir import ir

from harness.codegen.ir.walk import functions_of
from harness.codegen.layouts.analysis import LayoutAnalysis
from harness.codegen.layouts.distribution.reductions import exchange_in_pairs
from harness.codegen.layouts.partial_sums import defer_row_sums
from harness.targets.base import OBJECT, Stage
from harness.targets.gpu.half_sums import add_up_in_halves
from harness.targets.gpu.kept_tiles import keep_in_shared_memory
from harness.targets.gpu.kernel_build import KernelBuild, on_module, verified_text
from harness.targets.gpu.kernel_function import distribute_kernel, gpu_module
from harness.targets.gpu.matrix_operands import narrow_matrix_operands
from harness.targets.gpu.packaging import EMULATED, emulate
from harness.targets.gpu.prefetches import prefetch_next_tiles
from harness.targets.gpu.product_order import compute_just_in_time, load_by_step, multiply_by_step
from harness.targets.gpu.rereading import has_room, read_again_in_loops
from harness.targets.gpu.staging import stage_matrix_operands
from harness.targets.gpu.vendor import Vendor
from harness.targets.gpu.wide_stores import store_wide
from harness.targets.lowering.bufferize import bufferize
from harness.targets.lowering.buffers import describe_buffers
from harness.targets.lowering.destinations import (
    insert_instead_of_copying,
    write_first_where_kept,
    write_where_kept,
)
from harness.targets.lowering.grid_order import number_longest_first
from harness.targets.lowering.reciprocals import divide_rows_once
from harness.targets.lowering.stage_recorder import StageRecorder
from harness.targets.lowering.tile_axes import see_tiles_along_last_axes
from harness.targets.lowering.transforms import run_passes
from harness.targets.lowering.vectorize import carry_accumulators, hoist_from_innermost_loops, vectorize
from harness.targets.lowering.whole_buffers import index_whole_buffers


def stages(vendor: Vendor, route: Sequence[Stage] | None = None) -> tuple[Stage, ...]:
    """Return all stages for a vendor's chip, in order."""
    route = to_llvm_ir(vendor) if route is None else route
    return (*route, *vendor.code_generation().emission, OBJECT, EMULATED)


def to_llvm_ir(vendor: Vendor) -> tuple[Stage, ...]:
    """Return the stages up to the LLVM IR that the vendor's code and the emulator's are made from."""
    return (
        Stage("vectorized", "tiles as vectors of a workgroup, loops carry them", on_module(_vectorize)),
        Stage("bufferized", "tensors become memory", _bufferize),
        Stage("grid-ordered", "points with the longest loops first, where loops depend on the point", _order),
        Stage(
            "matrix-operands",
            "products take their operands in the type that is stored",
            on_module(narrow_matrix_operands),
        ),
        Stage(
            "half-sums",
            "the product with V adds up in f16, where an option asks for it",
            _on_kernels(add_up_in_halves, simplifies=True, output_sums="f16"),
        ),
        Stage(
            "staged",
            "tiles of Q, K and V pass through shared memory, copied ahead of the loop",
            _stage,
        ),
        Stage(
            "read-again",
            "operands that registers have no room for are read from memory in each iteration",
            _read_again,
        ),
        Stage(
            "prefetched",
            "loops ask for the tiles of their next iteration",
            _on_kernels(prefetch_next_tiles, simplifies=True, prefetches="next-tile"),
        ),
        Stage(
            "loads-by-step",
            "a load of operands is for one step of a product, where registers are full",
            _on_kernels(load_by_step, operand_loads="one-step"),
        ),
        Stage(
            "products-by-step",
            "all fragments of a product take a step of its depth before the next one",
            _on_kernels(multiply_by_step, product_order="by-step"),
        ),
        Stage(
            "wide-stores",
            "results pass through shared memory, so that lanes store 16 bytes at once",
            _store_wide,
        ),
        Stage("laid-out", "layouts of vectors as attributes, and the conflicts between them", _lay_out),
        Stage("partial-sums", "lanes add up their parts of a row's sum after the loop", _defer_sums),
        Stage(
            "packed-exchange",
            "lanes exchange numbers of two rows at once, in f16, where an option asks for it",
            _on_kernels(exchange_in_pairs, row_exchange="packed-f16"),
        ),
        Stage("distributed", "what one lane does: matrix instructions, shuffles, copies", _distribute),
        Stage("just-in-time", "what a step of a product needs stands just before it", _order_by_need),
        *vendor.code_generation().lowering,
    )


def compile_kernels(build: KernelBuild, folder: Path, route: Sequence[Stage] | None = None) -> StageRecorder:
    """Run every stage and write each one's output to the folder.

    `route` are the stages up to LLVM IR, as in `stages`.

    Raises `UnsupportedError` or `BuildError` for what the pipeline has no form of.
    """
    vendor = build.vendor
    route = to_llvm_ir(vendor) if route is None else route
    recorder = StageRecorder(folder, stages(vendor, route))
    recorder.run_all(route, build)
    vendor.require_room(build.kernels)
    with ThreadPoolExecutor(1) as beside:  # a part of the time passes in other processes
        emitting = beside.submit(recorder.run_all, vendor.code_generation().emission, build)
        build.emulation = emulate(build.llvm_ir, vendor.emulated_device, recorder)
        emitting.result()
    recorder.name_object(build.code.object_file)
    return recorder


def _vectorize(module: ir.Module) -> None:
    vectorize(module)
    hoist_from_innermost_loops(module)
    carry_accumulators(module)
    divide_rows_once(module)
    write_where_kept(module)
    write_first_where_kept(module)
    insert_instead_of_copying(module)
    run_passes(module, "canonicalize", "cse")


def _bufferize(build: KernelBuild) -> str:
    bufferize(build.module)
    run_passes(build.module, "fold-memref-alias-ops", "canonicalize", "cse")
    for function in functions_of(build.module):
        keep_in_shared_memory(function, build.vendor.staging)
        index_whole_buffers(function)
        see_tiles_along_last_axes(function)
    build.buffers = [describe_buffers(function) for function in functions_of(build.module)]
    return str(build.module)


def _order(build: KernelBuild) -> str:
    if build.longest_first:
        number_longest_first(build.module)
    return str(build.module)


def _on_kernels(
    change: Callable[[ir.OpView], object], *, simplifies: bool = False, **wanted: str
) -> Callable[[KernelBuild], str | None]:
    """Return the `run` of a stage that changes each kernel, and then simplifies, where options are so."""

    def run(build: KernelBuild) -> str | None:
        if any(getattr(build.strategy, option) != value for option, value in wanted.items()):
            return None
        for kernel in functions_of(build.module):
            change(kernel)
        if simplifies:
            run_passes(build.module, "canonicalize", "cse")
        return str(build.module)

    return run


def _stage(build: KernelBuild) -> str:
    staging, strategy = build.vendor.staging, build.strategy
    if staging is not None:
        for kernel in functions_of(build.module):
            stage_matrix_operands(
                kernel,
                staging,
                strategy.staging_slots or 1,
                build.tiling,
                build.vendor.workgroup_shared_bytes,
                behind_scores=strategy.copies == "behind-scores",
            )
    return str(build.module)


def _read_again(build: KernelBuild) -> str | None:
    if build.strategy.query_operand == "registers":
        return None
    is_staged, most_bytes = build.vendor.staging is not None, build.vendor.workgroup_shared_bytes
    if is_staged and most_bytes is not None and not has_room(build.module, most_bytes):
        return None
    for kernel in functions_of(build.module):
        read_again_in_loops(kernel, is_staged=is_staged)
    return str(build.module)


def _store_wide(build: KernelBuild) -> str | None:
    if build.strategy.output_stores != "wide":
        return None
    for kernel in functions_of(build.module):
        store_wide(kernel, build.tiling, build.vendor.workgroup_shared_bytes)
    return str(build.module)


def _lay_out(build: KernelBuild) -> str:
    build.analyses = [LayoutAnalysis(function, build.tiling) for function in functions_of(build.module)]
    for analysis in build.analyses:
        analysis.annotate()
    return str(build.module)


def _defer_sums(build: KernelBuild) -> str | None:
    if build.strategy.row_sums == "every-tile":
        return None
    for function, analysis in zip(functions_of(build.module), build.analyses, strict=True):
        defer_row_sums(function, analysis)
    return str(build.module)


def _distribute(build: KernelBuild) -> str:
    lanes, rules = gpu_module(), build.vendor.code_generation().rules
    for function, analysis in zip(functions_of(build.module), build.analyses, strict=True):
        shape = distribute_kernel(function, analysis, lanes.body.operations[0], rules)
        build.shapes.append(shape)
    lanes.operation.verify()
    build.module = lanes
    return verified_text(lanes)


def _order_by_need(build: KernelBuild) -> str | None:
    if build.strategy.product_order != "by-step":
        return None
    compute_just_in_time(build.module)
    build.module.operation.verify()
    return verified_text(build.module)
