"""The registries of models: every C function is registered, and what MLIR and IREE call is modelled."""

import re

import pytest
from mlir import ir, passmanager
from mlir.dialects import llvm
from model_calls import EMULATOR

from harness.emulator.devices import device
from harness.emulator.models.amd import models_for
from harness.emulator.models.intel import MODELS as INTEL
from harness.emulator.models.model import ModelKind

DEFINITION = re.compile(r"^(LANE|COLLECTIVE)_MODEL\((\w+)\)", re.MULTILINE)
AMD = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1151", "gfx1201")
CHIPS = {"nvidia": ("sm_80",), "amd": AMD, "intel": ("bmg",)}

ARGUMENTS = """
  %i: i32, %l: i64, %h: i16, %f: f32, %b: i1, %global: !llvm.ptr<1>, %shared: !llvm.ptr<3>,
  %v2f16: vector<2xf16>, %v4f16: vector<4xf16>, %v8f16: vector<8xf16>, %v16f16: vector<16xf16>,
  %v4i16: vector<4xi16>, %v16i16: vector<16xi16>,
  %v4f32: vector<4xf32>, %v8f32: vector<8xf32>, %v16f32: vector<16xf32>
"""

MMA = "layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>"
MATRIX = "#nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>"
NVIDIA_OPERATIONS = f"""
  %0 = nvvm.read.ptx.sreg.tid.x : i32
  %1 = nvvm.read.ptx.sreg.ctaid.z : i32
  %2 = nvvm.read.ptx.sreg.ntid.y : i32
  %3 = nvvm.read.ptx.sreg.nctaid.x : i32
  %4 = nvvm.read.ptx.sreg.laneid : i32
  %5 = nvvm.read.ptx.sreg.warpsize : i32
  %7 = nvvm.shfl.sync bfly %i, %f, %i, %i : f32 -> f32
  %8 = nvvm.shfl.sync down %i, %i, %i, %i {{return_value_and_is_valid}} : i32 -> !llvm.struct<(i32, i1)>
  nvvm.barrier
  nvvm.barrier id = %i number_of_threads = %i
  nvvm.bar.warp.sync %i : i32
  nvvm.cp.async.shared.global %shared, %global, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
  nvvm.cp.async.shared.global %shared, %global, 4, cache = ca, %i : !llvm.ptr<3>, !llvm.ptr<1>, i32
  nvvm.cp.async.commit.group
  nvvm.cp.async.wait.group 1
  %20 = nvvm.ldmatrix %shared {{num = 4 : i32, layout = #nvvm.mma_layout<row>, shape = {MATRIX}}}
    : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32, i32, i32)>
  %21 = nvvm.ldmatrix %shared {{num = 1 : i32, layout = #nvvm.mma_layout<col>, shape = {MATRIX}}}
    : (!llvm.ptr<3>) -> i32
  %30 = nvvm.mma.sync A[%v2f16, %v2f16, %v2f16, %v2f16] B[%v2f16, %v2f16] C[%f, %f, %f, %f]
    {{shape = #nvvm.shape<m = 16, n = 8, k = 16>, {MMA}}}
    : (vector<2xf16>, vector<2xf16>, f32) -> !llvm.struct<(f32, f32, f32, f32)>
  %31 = nvvm.mma.sync A[%v2f16, %v2f16] B[%v2f16] C[%v2f16, %v2f16]
    {{shape = #nvvm.shape<m = 16, n = 8, k = 8>, {MMA}}}
    : (vector<2xf16>, vector<2xf16>, vector<2xf16>) -> !llvm.struct<(vector<2xf16>, vector<2xf16>)>
  %32 = nvvm.mma.sync A[%i, %i, %i, %i] B[%i, %i] C[%f, %f, %f, %f]
    {{shape = #nvvm.shape<m = 16, n = 8, k = 16>, {MMA},
     multiplicandAPtxType = #nvvm.mma_type<bf16>, multiplicandBPtxType = #nvvm.mma_type<bf16>}}
    : (i32, i32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
  %33 = nvvm.mma.sync A[%i, %i, %i, %i] B[%i, %i] C[%f, %f, %f, %f]
    {{shape = #nvvm.shape<m = 16, n = 8, k = 8>, {MMA},
     multiplicandAPtxType = #nvvm.mma_type<tf32>, multiplicandBPtxType = #nvvm.mma_type<tf32>}}
    : (i32, i32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
  %40 = nvvm.rcp.approx.ftz.f %f : f32
  %41 = nvvm.convert.f32x2.to.f16x2 %f, %f {{rnd = #nvvm.fp_rnd_mode<rn>}} : vector<2xf16>
  %42 = nvvm.convert.f32x2.to.bf16x2 %f, %f {{rnd = #nvvm.fp_rnd_mode<rn>}} : vector<2xbf16>
  %43 = nvvm.convert.float.to.tf32 %f {{rnd = #nvvm.fp_rnd_mode<rna>}}
  nvvm.memory.barrier #nvvm.mem_scope<cta>
"""

AMD_OPERATIONS = """
  %0 = rocdl.workitem.id.x : i32
  %1 = rocdl.workitem.id.y : i32
  %2 = rocdl.workgroup.id.x : i32
  %3 = rocdl.workgroup.id.z : i32
  %4 = rocdl.workgroup.dim.x : i64
  %5 = rocdl.grid.dim.y : i64
  %6 = rocdl.wavefrontsize : i32
  %7 = rocdl.mbcnt.lo %i, %i : (i32, i32) -> i32
  %8 = rocdl.mbcnt.hi %i, %i : (i32, i32) -> i32
  %9 = rocdl.ds_bpermute %i, %i : (i32, i32) -> i32
  %10 = rocdl.ds_swizzle %i, %zero : (i32, i32) -> i32
  %11 = rocdl.readlane %f, %i : (f32, i32) -> f32
  %12 = rocdl.readfirstlane %i : i32
  %14 = rocdl.update.dpp %f, %f with 177, 15, 15, true : f32
  %15 = rocdl.make.buffer.rsrc %global, %h, %l, %i : !llvm.ptr<1> to !llvm.ptr<8>
  %16 = rocdl.raw.ptr.buffer.load %15, %i, %i, %zero : vector<4xf32>
  rocdl.raw.ptr.buffer.store %v4f32, %15, %i, %i, %zero : vector<4xf32>
  %17 = rocdl.exp2 %f f32 -> f32
  %18 = rocdl.rcp %f f32 -> f32
  rocdl.s.barrier
  rocdl.sched.barrier 0
  rocdl.sched.group.barrier 8, 1, 0
  rocdl.iglp.opt 0
  rocdl.s.setprio 1
  rocdl.s.waitcnt 0
"""

GFX9_OPERATIONS = """
  rocdl.load.to.lds %global, %shared, 4, 0, 0 : !llvm.ptr<1>
  rocdl.global.load.lds %global, %shared, 4, 0, 0
  %0 = rocdl.make.buffer.rsrc %global, %h, %l, %i : !llvm.ptr<1> to !llvm.ptr<8>
  rocdl.raw.ptr.buffer.load.lds %0, %shared, %zero, %i, %i, %zero, %zero
  %1 = rocdl.mfma.f32.16x16x16f16 %v4f16, %v4f16, %v4f32, %zero, %zero, %zero :
    (vector<4xf16>, vector<4xf16>, vector<4xf32>, i32, i32, i32) -> vector<4xf32>
  %2 = rocdl.mfma.f32.32x32x8f16 %v4f16, %v4f16, %v16f32, %zero, %zero, %zero :
    (vector<4xf16>, vector<4xf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
  %3 = rocdl.mfma.f32.16x16x16bf16.1k %v4i16, %v4i16, %v4f32, %zero, %zero, %zero :
    (vector<4xi16>, vector<4xi16>, vector<4xf32>, i32, i32, i32) -> vector<4xf32>
  %4 = rocdl.mfma.f32.32x32x8bf16.1k %v4i16, %v4i16, %v16f32, %zero, %zero, %zero :
    (vector<4xi16>, vector<4xi16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
  %5 = rocdl.mfma.f32.16x16x4f32 %f, %f, %v4f32, %zero, %zero, %zero :
    (f32, f32, vector<4xf32>, i32, i32, i32) -> vector<4xf32>
"""

GFX950_OPERATIONS = """
  %0 = rocdl.permlane16.swap %i, %i, false, false : (i32, i32) -> !llvm.struct<(i32, i32)>
  %1 = rocdl.permlane32.swap %i, %i, false, false : (i32, i32) -> !llvm.struct<(i32, i32)>
  %2 = rocdl.ds.read.tr16.b64 %shared : !llvm.ptr<3> -> vector<4xf16>
  %3 = rocdl.mfma.f32.16x16x32.f16 %v8f16, %v8f16, %v4f32, %zero, %zero, %zero :
    (vector<8xf16>, vector<8xf16>, vector<4xf32>, i32, i32, i32) -> vector<4xf32>
  %4 = rocdl.mfma.f32.32x32x16.f16 %v8f16, %v8f16, %v16f32, %zero, %zero, %zero :
    (vector<8xf16>, vector<8xf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
"""

GFX11_OPERATIONS = """
  %0 = rocdl.permlanex16 %f, %f, %i, %i, true, false : f32, i32
  %1 = rocdl.wmma.f32.16x16x16.f16 %v16f16, %v16f16, %v8f32 :
    (vector<16xf16>, vector<16xf16>, vector<8xf32>) -> vector<8xf32>
  %2 = rocdl.wmma.f32.16x16x16.bf16 %v16i16, %v16i16, %v8f32 :
    (vector<16xi16>, vector<16xi16>, vector<8xf32>) -> vector<8xf32>
"""

GFX12_OPERATIONS = """
  rocdl.s.barrier.signal id = -1
  rocdl.s.barrier.wait id = -1
  rocdl.s.wait.dscnt 0
  %0 = rocdl.permlanex16 %f, %f, %i, %i, true, false : f32, i32
  %1 = rocdl.wmma.f32.16x16x16.f16 %v8f16, %v8f16, %v8f32 :
    (vector<8xf16>, vector<8xf16>, vector<8xf32>) -> vector<8xf32>
"""


@pytest.mark.parametrize("vendor", CHIPS)
def test_every_function_is_registered_as_its_kind(models, vendor):
    sources = sorted((EMULATOR / "models" / vendor).glob("*.c"))
    defined = {
        (symbol, kind.lower())
        for file in sources
        for kind, symbol in DEFINITION.findall(file.read_text("utf-8"))
    }
    registered = [model for chip in CHIPS[vendor] for model in device(chip).models.values()]
    assert {(model.symbol, model.kind) for model in registered if model.symbol} == defined
    assert {model.kind for model in registered if not model.symbol} == {ModelKind.NOTHING}
    for symbol, _ in defined:
        assert models(vendor).loaded[symbol]
    for model in registered:
        assert all(0 <= constant < 2**31 for constant in model.constants)


@pytest.mark.parametrize(
    ("operations", "chips"),
    [
        (NVIDIA_OPERATIONS, ("sm_80",)),
        (AMD_OPERATIONS, AMD),
        (GFX9_OPERATIONS, ("gfx90a", "gfx942", "gfx950")),
        (GFX950_OPERATIONS, ("gfx950",)),
        (GFX11_OPERATIONS, ("gfx1100", "gfx1151")),
        (GFX12_OPERATIONS, ("gfx1201",)),
    ],
    ids=["nvidia", "amd", "gfx9", "gfx950", "gfx11", "gfx12"],
)
def test_what_mlirs_operations_call_is_modelled(operations, chips):
    zero = "%zero = llvm.mlir.constant(0 : i32) : i32"
    kernel = f"llvm.func @kernel({ARGUMENTS}) {{\n{zero}\n{operations}\nllvm.return\n}}"
    with ir.Context():
        text = llvm.translate_module_to_llvmir(ir.Module.parse(kernel).operation)
    called = set(re.findall(r"call .*@([\w.]+)\(", text))
    assert len(called) > 2
    for chip in chips:
        assert called <= set(device(chip).models)


@pytest.mark.parametrize(
    ("intrinsic", "chips"),
    [
        # What IREE 3.13 calls where no test of these runs its kernels
        *((name, {"gfx950"}) for name in ("ds.read.tr16.b64.v4bf16", "ds.read.tr16.b64.v4f16")),
        ("load.to.lds.p7", {"gfx90a", "gfx942", "gfx950"}),
        *((f"permlane{width}.swap", {"gfx950"}) for width in (16, 32)),
        ("mfma.f32.16x16x32.f16", {"gfx950"}),
        ("mfma.f32.16x16x8bf16", {"gfx90a"}),
        ("mfma.f32.16x16x16f16", {"gfx90a", "gfx942", "gfx950"}),
        ("permlanex16.f32", {"gfx1100", "gfx1151", "gfx1201"}),
        ("wmma.f32.16x16x16.f16.v8f32.v16f16", {"gfx1100", "gfx1151"}),
        ("wmma.f32.16x16x16.f16.v8f32.v8f16", {"gfx1201"}),
        ("s.barrier.signal", {"gfx1201"}),
        ("ds.bpermute", set(AMD)),
    ],
)
def test_generations_have_their_own_instructions(intrinsic, chips):
    assert {chip for chip in AMD if f"llvm.amdgcn.{intrinsic}" in models_for(chip)} == chips
    if intrinsic == "ds.bpermute":
        symbols = [models_for(chip)["llvm.amdgcn.ds.bpermute"].symbol for chip in ("gfx942", "gfx1100")]
        assert symbols == ["amdgcn_ds_bpermute_gfx9", "amdgcn_ds_bpermute_gfx10"]


@pytest.mark.parametrize("chip", ["gfx906", "gfx1030", "gfx1250", "sm_80"])
def test_other_chips_are_refused(chip):
    with pytest.raises(ValueError, match=f"no models for '{chip}'"):
        models_for(chip)


SURFACE = "%p: !llvm.ptr<1>, %width: i32, %height: i32, %pitch: i32, %x: i32, %y: i32"
OPERANDS = "%p, %width, %height, %pitch, %x, %y"
TYPES = "!llvm.ptr<1>, i32, i32, i32, i32, i32"
TILE = "elem_size_in_bits = {} : i32, tile_width = {} : i32, tile_height = {} : i32, v_blocks = {} : i32"


def block_load(tile: tuple[int, ...], kind: str, *flags: str) -> str:
    set_flags = ", ".join(f"{flag} = {str(flag in flags).lower()}" for flag in ("transpose", "pack_register"))
    return f"%r = xevm.blockload2d {OPERANDS} <{{{TILE.format(*tile)}, {set_flags}}}> : ({TYPES}) -> {kind}"


def intel_builtins(text: str, passes: str) -> list[str]:
    """Return the builtins that MLIR's lowering declares."""
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        passmanager.PassManager.parse(f"builtin.module({passes})").run(module.operation)
        return re.findall(r"llvm\.func (?:spir_funccc )?@(_Z\w+)\(", str(module))


@pytest.mark.parametrize(
    ("body", "arguments", "symbol", "constants"),
    [
        (block_load((16, 16, 8, 2), "vector<16xi16>"), SURFACE, "intel_2d_block_read", (2, 8, 16, 2)),
        (block_load((32, 16, 8, 1), "vector<8xi32>"), SURFACE, "intel_2d_block_read", (4, 8, 16, 1)),
        (
            block_load((16, 16, 16, 2), "vector<16xi32>", "pack_register"),
            SURFACE,
            "intel_2d_block_read",
            (2, 16, 16, 2),
        ),
        (
            block_load((32, 8, 16, 1), "vector<8xi32>", "transpose"),
            SURFACE,
            "intel_2d_block_read_transpose",
            (4, 16, 8, 1),
        ),
        (
            f"xevm.blockstore2d {OPERANDS}, %v <{{{TILE.format(32, 16, 8, 1).rpartition(',')[0]}}}> "
            f": ({TYPES}, vector<8xi32>)",
            f"{SURFACE}, %v: vector<8xi32>",
            "intel_2d_block_write",
            (4, 8, 16, 1),
        ),
        (
            f"xevm.blockprefetch2d {OPERANDS} <{{{TILE.format(16, 16, 32, 2)}}}> : ({TYPES})",
            SURFACE,
            "intel_2d_block_prefetch",
            (2, 32, 16, 2),
        ),
        *(
            (
                "%d = xevm.mma %a, %b, %c {shape = <m = 8, n = 16, k = 16>, "
                f"types = <d = f32, a = {kind}, b = {kind}, c = f32>}} "
                ": (vector<8xi16>, vector<8xi32>, vector<8xf32>) -> vector<8xf32>",
                "%a: vector<8xi16>, %b: vector<8xi32>, %c: vector<8xf32>",
                f"intel_dpas_{kind}",
                (8,),
            )
            for kind in ("f16", "bf16")
        ),
    ],
)
def test_what_xevms_operations_call_is_modelled(body, arguments, symbol, constants):
    text = f"llvm.func @f({arguments}) {{ {body}\n llvm.return }}"
    (name,) = intel_builtins(text, "convert-xevm-to-llvm")
    assert (INTEL[name].symbol, INTEL[name].constants) == (symbol, constants)


def test_what_gpu_operations_become_for_intel_is_modelled():
    functions = "\n".join(
        f"%{name}{i} = math.{name} %v{i} fastmath<afn> : {kind}"
        for name in ("exp", "exp2", "log", "log2", "sqrt", "rsqrt")
        for i, kind in enumerate(("f32", "vector<8xf32>", "vector<16xf16>"))
    )
    text = f"""gpu.module @m {{
      gpu.func @f(%f32: f32, %i32: i32, %o: i32, %v0: f32, %v1: vector<8xf32>, %v2: vector<16xf16>) kernel
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
        %s1, %p1 = gpu.shuffle xor %f32, %o, %w : f32
        %s2, %p2 = gpu.shuffle idx %i32, %o, %w : i32
        {functions}
        %9 = arith.divf %v1, %v1 fastmath<afn> : vector<8xf32>
        gpu.return
      }}
    }}"""
    passes = (
        "gpu.module(convert-math-to-xevm{convert-arith=true},convert-gpu-to-llvm-spv{use-64bit-index=true})"
    )
    names = intel_builtins(text, passes)
    assert len(names) > 25
    assert [name for name in names if name not in INTEL] == []
