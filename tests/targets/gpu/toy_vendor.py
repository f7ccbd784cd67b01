"""A vendor that nobody sells: 8 lanes, a 4×4×4 matrix instruction, no shared memory, OpenCL's builtins.

It is defined by a descriptor of its instruction and a vendor object, and by nothing else.
"""

import itertools
import operator
from collections.abc import Sequence

from mlir import ir
from mlir.dialects import arith, builtin, gpu, llvm, math, vector

from harness.artifact.artifact import Loader
from harness.emulator.devices import Device
from harness.emulator.devices import Vendor as EmulatedVendor
from harness.emulator.models import intel
from harness.layouts.layout import Layout, lane
from harness.layouts.layout import vector as registers
from harness.layouts.matrix_instruction import MatrixInstruction, Registers
from harness.targets.base import Stage
from harness.targets.gpu.kernel_build import DeviceCode, KernelBuild, on_module
from harness.targets.gpu.llvm_ir import translated
from harness.targets.gpu.vendor import CodeGeneration, Multiprocessors, Vendor
from harness.targets.lowering.transforms import run_passes

LANES = 8
SIDE = 4
CHIP = "toy1"

ROW, PAIR_OF_COLUMNS, COLUMN = lane("y", SIDE), lane("x", 2), registers("x", 2)
FRAGMENT = Layout(axes=((ROW,), (PAIR_OF_COLUMNS, COLUMN)), order=(ROW, PAIR_OF_COLUMNS, COLUMN))
"""4×4: lane 2·row + column / 2 holds two neighbours of a row, of all three operands."""


def _registers(fragment: ir.Value) -> Registers:
    return tuple(vector.extract(fragment, [], [number]) for number in range(2))


def _multiply(pairs: Sequence[tuple[Registers, Registers]], c: ir.Value) -> ir.Value:
    """Emit C + A·Bᵀ: each lane fetches the elements of A and B that its two elements of C need."""
    word = ir.IntegerType.get_signless(32)

    def number(value: int) -> ir.Value:
        return arith.constant(word, value)

    own = arith.remui(arith.index_cast(word, gpu.thread_id(gpu.Dimension.x)), number(LANES))
    row = arith.muli(arith.divui(own, number(2)), number(2))
    first_column = arith.muli(arith.remui(own, number(2)), number(2))
    results = [vector.extract(c, [], [column]) for column in range(2)]
    for a, b in pairs:
        for depth in range(SIDE):
            left = _fetched(a[depth % 2], arith.addi(row, number(depth // 2)))
            for column in range(2):
                holder = arith.muli(arith.addi(first_column, number(column)), number(2))
                right = _fetched(b[depth % 2], arith.addi(holder, number(depth // 2)))
                results[column] = math.fma(left, right, results[column])
    return vector.from_elements(c.type, results)


def _fetched(value: ir.Value, holder: ir.Value) -> ir.Value:
    width = arith.constant(ir.IntegerType.get_signless(32), LANES)
    return gpu.ShuffleOp(value, holder, width, gpu.ShuffleMode.IDX).shuffleResult


INSTRUCTION = MatrixInstruction(
    name="toy.m4n4k4",
    vendor="toy",
    m=SIDE,
    n=SIDE,
    k=SIDE,
    operand="f32",
    accumulator="f32",
    a=FRAGMENT,
    b=FRAGMENT,
    c=FRAGMENT,
    source="made up",
    prepare=_registers,
    emit=_multiply,
)

PASSES = (
    "canonicalize",
    "cse",
    "convert-gpu-to-llvm-spv{use-64bit-index=true}",
    "convert-scf-to-cf",
    "expand-strided-metadata",
    "lower-affine",
    "convert-vector-to-llvm",
    "convert-math-to-llvm",
    "convert-to-llvm",
    "reconcile-unrealized-casts",
)


def _to_opencl(module: ir.Module) -> None:
    for kernel in module.body.operations[0].regions[0].blocks[0].operations:
        _take_pointers(kernel)
    run_passes(module, f"gpu.module({','.join(PASSES)})")


def _take_pointers(kernel: ir.OpView) -> None:
    """Let a kernel take a pointer for each buffer, as it is launched with."""
    block = kernel.regions[0].blocks[0]
    pointer = ir.Type.parse("!llvm.ptr<1>")
    for argument in list(block.arguments):
        kind = argument.type
        with ir.InsertionPoint.at_block_begin(block), kernel.location:
            nothing = llvm.mlir_undef(_descriptor_type(kind))
            buffer = builtin.UnrealizedConversionCastOp([kind], [nothing])
        argument.replace_all_uses_with(buffer.results[0])
        argument.set_type(pointer)
        with ir.InsertionPoint(buffer), kernel.location:
            buffer.operation.operands[0] = _descriptor(argument, nothing, kind)
    taken = ir.FunctionType.get([pointer] * len(block.arguments), [])
    kernel.attributes["function_type"] = ir.TypeAttr.get(taken)
    size = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), LANES)
    kernel.attributes["intel_reqd_sub_group_size"] = size


def _descriptor_type(kind: ir.MemRefType) -> ir.Type:
    numbers = f"array<{kind.rank} x i64>"
    return ir.Type.parse(f"!llvm.struct<(ptr<1>, ptr<1>, i64, {numbers}, {numbers})>")


def _descriptor(pointer: ir.Value, descriptor: ir.Value, kind: ir.MemRefType) -> ir.Value:
    """Return what stands for a buffer without gaps in the LLVM dialect."""
    strides = list(itertools.accumulate(reversed(kind.shape[1:]), operator.mul, initial=1))[::-1]
    fields = [((0,), None), ((1,), None), ((2,), 0)]
    fields += [((3, axis), size) for axis, size in enumerate(kind.shape)]
    fields += [((4, axis), stride) for axis, stride in enumerate(strides)]
    for position, number in fields:
        value = pointer
        if number is not None:
            word = ir.IntegerType.get_signless(64)
            value = llvm.mlir_constant(ir.IntegerAttr.get(word, number))
        descriptor = llvm.insertvalue(descriptor, value, ir.DenseI64ArrayAttr.get(position))
    return descriptor


def _to_llvm_ir(build: KernelBuild) -> str:
    build.llvm_ir = translated(build.module, "spir64-unknown-unknown")
    return build.llvm_ir


def _emit(build: KernelBuild) -> str:
    build.device_code = DeviceCode(image=build.llvm_ir.encode(), files={"kernels.ll": build.llvm_ir.encode()})
    return build.llvm_ir


VENDOR = Vendor(
    name="toy",
    chip=CHIP,
    multiprocessors=Multiprocessors(
        count=4, registers_of_lane=256, resident=lambda threads, registers, shared_bytes: 1
    ),
    matrix_instructions={"f32": INSTRUCTION},
    most_warps=2,
    key_tile=8,
    shared_memory=None,
    staging=None,
    require_resources=lambda kernels: None,
    code_generation=lambda: CodeGeneration(
        rules=(),
        lowering=(
            Stage("opencl", "the LLVM dialect with OpenCL's builtins", on_module(_to_opencl)),
            Stage("llvm-ir", "LLVM IR", _to_llvm_ir, "ll"),
        ),
        emission=(Stage("toy-code", "what the toy's driver would get", _emit, "ll"),),
    ),
    device_loader=Loader(executor="device", function="nowhere:load"),
    emulated_device=Device(EmulatedVendor.INTEL, CHIP, LANES, intel.MODELS),
)
