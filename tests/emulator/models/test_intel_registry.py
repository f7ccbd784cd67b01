"""The registry of Intel's models knows the calls that MLIR's lowering makes."""

import re

import pytest
from mlir import ir, passmanager

from harness.emulator.models.intel import MODELS, ROWS
from harness.emulator.models.intel.blocks import (
    COMPONENTS,
    PREFETCH_SHAPES,
    READ_SHAPES,
    TRANSFORM_SHAPES,
    TRANSPOSE_SHAPES,
    WRITE_SHAPES,
    BlockShape,
)
from harness.emulator.models.model import ModelKind

BUILTIN = re.compile(r"llvm\.func (?:spir_funccc )?@(_Z\w+)\(")
SURFACE = "%p: !llvm.ptr<1>, %width: i32, %height: i32, %pitch: i32, %x: i32, %y: i32"
OPERANDS = "%p, %width, %height, %pitch, %x, %y"
TYPES = "!llvm.ptr<1>, i32, i32, i32, i32, i32"


def lowered(text: str, pipeline: str) -> str:
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        passmanager.PassManager.parse(f"builtin.module({pipeline})").run(module.operation)
        return str(module)


def lowered_xevm(body: str, arguments: str) -> str:
    return lowered(f"llvm.func @f({arguments}) {{ {body}\n llvm.return }}", "convert-xevm-to-llvm")


def model_of_xevm(body: str, arguments: str):
    """Return the model of the only builtin that an operation becomes a call of."""
    (name,) = BUILTIN.findall(lowered_xevm(body, arguments))
    return MODELS[name]


def tile(shape: BlockShape) -> str:
    return (
        f"elem_size_in_bits = {shape.bits} : i32, tile_width = {shape.columns} : i32, "
        f"tile_height = {shape.rows} : i32"
    )


def blockload(shape: BlockShape, *, transpose: bool = False, pack: bool = False) -> str:
    bits = 32 if pack else shape.bits
    elements = max(shape.rows * shape.columns * shape.blocks * shape.bits // bits // 16, 1)
    flags = f"transpose = {str(transpose).lower()}, pack_register = {str(pack).lower()}"
    return (
        f"%r = xevm.blockload2d {OPERANDS} <{{{tile(shape)}, v_blocks = {shape.blocks} : i32, {flags}}}> "
        f": ({TYPES}) -> vector<{elements}xi{bits}>"
    )


def blockstore(shape: BlockShape) -> tuple[str, str]:
    kind = f"vector<{shape.rows * shape.columns // 16}xi{shape.bits}>"
    return (
        f"xevm.blockstore2d {OPERANDS}, %v <{{{tile(shape)}}}> : ({TYPES}, {kind})",
        f"{SURFACE}, %v: {kind}",
    )


def blockprefetch(shape: BlockShape) -> str:
    return f"xevm.blockprefetch2d {OPERANDS} <{{{tile(shape)}, v_blocks = {shape.blocks} : i32}}> : ({TYPES})"


FULL = [shape for shape in READ_SHAPES if shape.rows * shape.columns >= 16]
"""A row of 8 is no whole number of elements per lane to MLIR."""
MESSAGES = [
    *(("read", shape, blockload(shape), SURFACE) for shape in FULL),
    *(("read_transform", shape, blockload(shape, pack=True), SURFACE) for shape in TRANSFORM_SHAPES),
    *(("read_transpose", shape, blockload(shape, transpose=True), SURFACE) for shape in TRANSPOSE_SHAPES),
    *(("write", shape, *blockstore(shape)) for shape in WRITE_SHAPES),
    *(("prefetch", shape, blockprefetch(shape), SURFACE) for shape in PREFETCH_SHAPES),
]


def test_two_dimensional_blocks():
    for kind, shape, body, arguments in MESSAGES:
        model = model_of_xevm(body, arguments)
        sizes = (shape.bits // 8, shape.rows, shape.columns, shape.blocks)
        assert (model.symbol, model.constants) == (f"intel_2d_block_{kind}", sizes)


def test_the_order_of_a_blocks_arguments():
    """Base, width, height, pitch, (x, y), the lane's own array: the order that `block_io.c` reads them in."""
    text = lowered_xevm(blockload(BlockShape(16, 8, 16, 1)), SURFACE)
    insertions = dict(re.findall(r"(%\d+) = llvm\.insertelement %arg(\d)", text))
    assert sorted(insertions.values()) == ["4", "5"]
    (coordinate,) = [name for name, inserted in insertions.items() if inserted == "5"]
    (call,) = re.findall(r"llvm\.call spir_funccc @_Z41\w+\(([^)]*)\)", text)
    assert call.split(", ")[:5] == ["%arg0", "%arg1", "%arg2", "%arg3", coordinate]
    assert re.search(rf"{re.escape(call.split(', ')[5])} = llvm\.alloca", text)


@pytest.mark.parametrize("space", [1, 3])
def test_one_dimensional_blocks(space):
    bits = {"h": 8, "t": 16, "j": 32, "m": 64}
    shapes = [(element, count) for element, counts in COMPONENTS.items() for count in counts]
    shapes.remove(("t", 16))  # version 1.1 of cl_intel_subgroups_short; MLIR ends at 8
    for element, count in shapes:
        kind = f"vector<{count}xi{bits[element]}>" if count > 1 else f"i{bits[element]}"
        body = f"%v = xevm.blockload %p : (!llvm.ptr<{space}>) -> {kind}\n"
        body += f"xevm.blockstore %p, %v : (!llvm.ptr<{space}>, {kind})"
        read, write = BUILTIN.findall(lowered_xevm(body, f"%p: !llvm.ptr<{space}>"))
        assert {read, write} <= set(MODELS)


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize(
    ("operand", "depth", "accumulator", "c_type"),
    [
        ("f16", 16, "f32", "f32"),
        ("f16", 16, "f16", "f16"),
        ("bf16", 16, "f32", "f32"),
        ("bf16", 16, "bf16", "bf16"),
        ("tf32", 8, "f32", "f32"),
        ("s8", 32, "s32", "i32"),
        ("u8", 32, "s32", "i32"),
    ],
)
def test_products(rows, operand, depth, accumulator, c_type):
    a_type = f"vector<{max(rows // 2, 1)}xf32>" if operand == "tf32" else f"vector<{rows}xi16>"
    b_type = "vector<8xf32>" if operand == "tf32" else "vector<8xi32>"
    c_type = f"vector<{rows}x{c_type}>"
    body = (
        f"%d = xevm.mma %a, %b, %c {{shape = <m = {rows}, n = 16, k = {depth}>, "
        f"types = <d = {accumulator}, a = {operand}, b = {operand}, c = {accumulator}>}} "
        f": ({a_type}, {b_type}, {c_type}) -> {c_type}"
    )
    model = model_of_xevm(body, f"%a: {a_type}, %b: {b_type}, %c: {c_type}")
    assert model.kind is ModelKind.COLLECTIVE
    assert model.constants[-1] == rows
    if operand.endswith("f16"):
        assert chr(model.constants[0]) == {"f32": "f", "f16": "D", "bf16": "s"}[accumulator]


def test_fences_and_prefetches_do_nothing():
    bodies = ["xevm.prefetch %p : (!llvm.ptr<1>)"]
    for space in ("global", "shared"):
        for scope in ("workgroup", "device"):
            spelled = f"addrspace = #xevm.addr_space<{space}>, scope = #xevm.mem_scope<{scope}>"
            bodies.append(f"xevm.memfence <{{{spelled}}}>")
    for body in bodies:
        assert model_of_xevm(body, SURFACE).kind is ModelKind.NOTHING


def test_gpu_operations_and_fast_mathematics():
    shuffles = "\n".join(
        f"%s{mode}{kind}, %p{mode}{kind} = gpu.shuffle {mode} %{kind}, %o, %w : {kind}"
        for mode in ("xor", "up", "down", "idx")
        for kind in ("f32", "i32", "f16", "i64", "f64", "i16", "i8")
    )
    functions = "\n".join(
        f"%{name}{i} = math.{name} %v{i} fastmath<afn> : {kind}"
        for name in ("exp", "exp2", "log", "log2", "log10", "sin", "cos", "tan", "sqrt", "rsqrt")
        for i, kind in enumerate(("f32", "vector<8xf32>", "vector<16xf16>"))
    )
    text = f"""gpu.module @m {{
      gpu.func @f(%f32: f32, %i32: i32, %f16: f16, %i64: i64, %f64: f64, %i16: i16, %i8: i8, %o: i32,
                  %v0: f32, %v1: vector<8xf32>, %v2: vector<16xf16>) kernel
                  attributes {{intel_reqd_sub_group_size = 16 : i32}} {{
        %w = arith.constant 16 : i32
        %0 = gpu.block_id x
        %1 = gpu.block_dim y
        %2 = gpu.grid_dim z
        %3 = gpu.thread_id x
        %4 = gpu.global_id x
        %5 = gpu.subgroup_id : index
        %6 = gpu.lane_id
        %7 = gpu.num_subgroups : index
        %8 = gpu.subgroup_size : index
        gpu.barrier
        {shuffles}
        {functions}
        %9 = math.powf %v1, %v1 fastmath<afn> : vector<8xf32>
        %10 = arith.divf %v1, %v1 fastmath<afn> : vector<8xf32>
        gpu.return
      }}
    }}"""
    passes = "convert-math-to-xevm{convert-arith=true},convert-gpu-to-llvm-spv{use-64bit-index=true}"
    names = BUILTIN.findall(lowered(text, f"gpu.module({passes})"))
    assert len(names) > 60
    assert [name for name in names if name not in MODELS] == []


@pytest.mark.parametrize(
    "name",
    [
        # Shapes that the extension lacks, or whose layout is in doubt (see `blocks.TRANSPOSE_SHAPES`).
        "_Z40intel_sub_group_2d_block_read_8b_8r16x1cPU3AS1viiiDv2_iPh",
        "_Z51intel_sub_group_2d_block_read_transpose_32b_32r8x1cPU3AS1viiiDv2_iPj",
        "_Z38intel_sub_group_f16_f16_matrix_mad_k16Dv3_sDv8_iDv3_f",
        "_Z10native_expi",
    ],
)
def test_what_does_not_exist_is_not_modelled(name):
    assert name not in MODELS
