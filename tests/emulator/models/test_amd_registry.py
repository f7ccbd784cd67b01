"""The registry of AMD's models: every line has its C function, and compilers' intrinsics are there."""

import re

import pytest
from mlir import ir
from mlir.dialects import llvm
from model_calls import EMULATOR, ModelLibrary

from harness.emulator.models.amd import GENERATIONS, models_for
from harness.emulator.models.model import ModelKind

DEFINITION = re.compile(r"^(LANE|COLLECTIVE)_MODEL\((\w+)\)", re.MULTILINE)

CHIPS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1151", "gfx1201")

COMMON_OPERATIONS = """
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
  %13 = rocdl.ballot %b : i64
  %14 = rocdl.update.dpp %f, %f with 177, 15, 15, true : f32
  %15 = rocdl.make.buffer.rsrc %global, %h, %l, %i : !llvm.ptr<1> to !llvm.ptr<8>
  %16 = rocdl.raw.ptr.buffer.load %15, %i, %i, %zero : vector<4xf32>
  rocdl.raw.ptr.buffer.store %v4f32, %15, %i, %i, %zero : vector<4xf32>
  %17 = rocdl.exp2 %f f32 -> f32
  %18 = rocdl.rcp %f f32 -> f32
  %19 = rocdl.fmed3 %f, %f, %f : f32
  %20 = rocdl.cvt.pkrtz %f, %f : vector<2xf16>
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
  %3 = rocdl.wmma.f16.16x16x16.f16 %v16f16, %v16f16, %v16f16 {opsel = true} :
    (vector<16xf16>, vector<16xf16>, vector<16xf16>) -> vector<16xf16>
"""

GFX12_OPERATIONS = """
  rocdl.s.barrier.signal id = -1
  rocdl.s.barrier.wait id = -1
  rocdl.s.wait.dscnt 0
  %0 = rocdl.permlanex16 %f, %f, %i, %i, true, false : f32, i32
  %1 = rocdl.wmma.f32.16x16x16.f16 %v8f16, %v8f16, %v8f32 :
    (vector<8xf16>, vector<8xf16>, vector<8xf32>) -> vector<8xf32>
"""

ARGUMENTS = """
  %i: i32, %l: i64, %h: i16, %f: f32, %b: i1, %global: !llvm.ptr<1>, %shared: !llvm.ptr<3>,
  %v4f16: vector<4xf16>, %v8f16: vector<8xf16>, %v16f16: vector<16xf16>, %v4i16: vector<4xi16>,
  %v16i16: vector<16xi16>, %v4f32: vector<4xf32>, %v8f32: vector<8xf32>, %v16f32: vector<16xf32>
"""

IREE_COMMON = (
    "ds.bpermute make.buffer.rsrc.p7.p1.i32 mbcnt.hi mbcnt.lo readlane.f32 s.barrier sched.barrier"
    " update.dpp.f32 workgroup.id.x workitem.id.x workitem.id.y"
)

IREE = {
    "gfx90a": "mfma.f32.16x16x16bf16.1k mfma.f32.16x16x16f16 mfma.f32.16x16x4f32 mfma.f32.16x16x8bf16",
    "gfx942": "mfma.f32.16x16x16bf16.1k mfma.f32.16x16x16f16 mfma.f32.16x16x4f32",
    "gfx950": "ds.read.tr16.b64.v4bf16 ds.read.tr16.b64.v4f16 load.to.lds.p7 mfma.f32.16x16x32.bf16"
    " mfma.f32.16x16x32.f16 mfma.f32.16x16x4f32 permlane16.swap permlane32.swap",
    "gfx1100": "ds.swizzle permlanex16.f32 permlanex16.i32 wmma.f32.16x16x16.bf16.v8f32.v16i16"
    " wmma.f32.16x16x16.f16.v8f32.v16f16",
    "gfx1201": "permlanex16.f32 permlanex16.i32 s.barrier.signal s.barrier.wait"
    " wmma.f32.16x16x16.bf16.v8f32.v8i16 wmma.f32.16x16x16.f16.v8f32.v8f16",
}
"""What IREE 3.13 calls in attention (f16, bf16, f32, causal, heads of 64 and 128), beyond `IREE_COMMON`."""


def called_functions(operations: str) -> set[str]:
    """Return the intrinsics and library functions that MLIR's operations become."""
    zero = "%zero = llvm.mlir.constant(0 : i32) : i32"
    kernel = f"llvm.func @kernel({ARGUMENTS}) {{\n{zero}\n{operations}\nllvm.return\n}}"
    with ir.Context():
        text = llvm.translate_module_to_llvmir(ir.Module.parse(kernel).operation)
    return set(re.findall(r"call .*@([\w.]+)\(", text))


def test_every_model_is_defined_and_registered_as_its_kind(amd: ModelLibrary) -> None:
    sources = sorted((EMULATOR / "models" / "amd").glob("*.c"))
    defined = {
        symbol: ModelKind(kind.lower())
        for source in sources
        for kind, symbol in DEFINITION.findall(source.read_text(encoding="utf-8"))
    }
    registered = {
        model.symbol: model.kind
        for models in GENERATIONS.values()
        for model in models.values()
        if model.symbol is not None
    }
    assert registered == defined
    for symbol in registered:
        assert amd.loaded[symbol]


def test_a_model_without_a_function_does_nothing() -> None:
    for models in GENERATIONS.values():
        assert {model.kind for model in models.values() if model.symbol is None} == {ModelKind.NOTHING}


@pytest.mark.parametrize(
    ("operations", "chips"),
    [
        (COMMON_OPERATIONS, CHIPS),
        (GFX9_OPERATIONS, ("gfx90a", "gfx942", "gfx950")),
        (GFX950_OPERATIONS, ("gfx950",)),
        (GFX11_OPERATIONS, ("gfx1100", "gfx1151")),
        (GFX12_OPERATIONS, ("gfx1201",)),
    ],
    ids=["common", "gfx9", "gfx950", "gfx11", "gfx12"],
)
def test_what_mlirs_operations_call_is_modelled(operations: str, chips: tuple[str, ...]) -> None:
    called = called_functions(operations)
    assert len(called) == operations.count("rocdl.")
    for chip in chips:
        assert called <= set(models_for(chip))


@pytest.mark.parametrize("chip", IREE)
def test_the_intrinsics_that_iree_calls_are_modelled(chip: str) -> None:
    called = {f"llvm.amdgcn.{name}" for name in f"{IREE_COMMON} {IREE[chip]}".split()}
    assert called <= set(models_for(chip))


@pytest.mark.parametrize(
    ("intrinsic", "chips"),
    [
        ("permlane32.swap", {"gfx950"}),
        ("mfma.f32.16x16x32.f16", {"gfx950"}),
        ("mfma.f32.16x16x8bf16", {"gfx90a"}),
        ("mfma.f32.16x16x16f16", {"gfx90a", "gfx942", "gfx950"}),
        ("permlanex16.f32", {"gfx1100", "gfx1151", "gfx1201"}),
        ("wmma.f32.16x16x16.f16.v8f32.v16f16", {"gfx1100", "gfx1151"}),
        ("wmma.f32.16x16x16.f16.v8f32.v8f16", {"gfx1201"}),
        ("s.barrier.signal", {"gfx1201"}),
        ("ds.bpermute", set(CHIPS)),
    ],
)
def test_generations_have_their_own_instructions(intrinsic: str, chips: set[str]) -> None:
    assert {chip for chip in CHIPS if f"llvm.amdgcn.{intrinsic}" in models_for(chip)} == chips


@pytest.mark.parametrize(
    ("intrinsic", "gfx942", "gfx1100"),
    [
        ("update.dpp.i32", "amdgcn_update_dpp_gfx9_b32", "amdgcn_update_dpp_gfx10_b32"),
        ("ds.bpermute", "amdgcn_ds_bpermute_gfx9", "amdgcn_ds_bpermute_gfx10"),
    ],
)
def test_what_differs_has_a_model_for_each_generation(intrinsic: str, gfx942: str, gfx1100: str) -> None:
    assert models_for("gfx942")[f"llvm.amdgcn.{intrinsic}"].symbol == gfx942
    assert models_for("gfx1100")[f"llvm.amdgcn.{intrinsic}"].symbol == gfx1100


@pytest.mark.parametrize("chip", ["gfx906", "gfx1030", "gfx1250", "sm_80"])
def test_other_chips_are_refused(chip: str) -> None:
    with pytest.raises(ValueError, match=f"no models for '{chip}'"):
        models_for(chip)
