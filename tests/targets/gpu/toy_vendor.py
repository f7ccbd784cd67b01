"""A vendor that nobody sells: 8 lanes, a 4×4×4 matrix instruction, no shared memory, OpenCL's builtins.

It is defined by a descriptor of its instruction and a vendor object, and by nothing else.
"""

from collections.abc import Sequence

from mlir import ir
from mlir.dialects import arith, gpu, math, vector

from harness.artifact.artifact import Loader
from harness.codegen.layouts.layout import Layout, lane
from harness.codegen.layouts.layout import vector as registers
from harness.codegen.layouts.matrix_instruction import MatrixInstruction, Registers
from harness.emulator.devices import Device
from harness.emulator.devices import Vendor as EmulatedVendor
from harness.emulator.models import intel
from harness.targets.base import Stage
from harness.targets.gpu.kernel_build import DeviceCode, KernelBuild, on_module, to_llvm_ir
from harness.targets.gpu.pointer_arguments import take_pointers
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
        take_pointers(kernel)
        size = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), LANES)
        kernel.attributes["intel_reqd_sub_group_size"] = size
    run_passes(module, f"gpu.module({','.join(PASSES)})")


def _emit(build: KernelBuild) -> str:
    build.code = DeviceCode(image=build.llvm_ir.encode(), files={"kernels.ll": build.llvm_ir.encode()})
    return build.llvm_ir


VENDOR = Vendor(
    chip=CHIP,
    multiprocessors=Multiprocessors(
        count=4, registers_of_lane=256, resident=lambda threads, registers, shared_bytes: 1
    ),
    matrix_instructions={"f32": INSTRUCTION},
    most_warps=2,
    key_tile=8,
    shared_memory=None,
    staging=None,
    code_generation=lambda: CodeGeneration(
        rules=(),
        lowering=(
            Stage("opencl", "the LLVM dialect with OpenCL's builtins", on_module(_to_opencl)),
            to_llvm_ir("spir64-unknown-unknown"),
        ),
        emission=(Stage("toy-code", "what the toy's driver would get", _emit, "ll"),),
    ),
    device_loader=Loader(executor="device", function="nowhere:load"),
    emulated_device=Device(EmulatedVendor.INTEL, CHIP, LANES, intel.MODELS),
)
