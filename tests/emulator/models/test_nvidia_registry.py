"""The registry of NVIDIA's models: every line has its C function, and the bindings' intrinsics are there."""

import re

from mlir import ir
from mlir.dialects import llvm
from model_calls import EMULATOR, ModelLibrary

from harness.emulator.models.model import ModelKind
from harness.emulator.models.nvidia import MODELS

DEFINITION = re.compile(r"^(LANE|COLLECTIVE)_MODEL\((\w+)\)", re.MULTILINE)

KERNEL = """
llvm.func @kernel(%i: i32, %f: f32, %s: !llvm.ptr<3>, %g: !llvm.ptr<1>, %b: i1, %h: vector<2xf16>) {
  %0 = nvvm.read.ptx.sreg.tid.x : i32
  %1 = nvvm.read.ptx.sreg.ctaid.z : i32
  %2 = nvvm.read.ptx.sreg.ntid.y : i32
  %3 = nvvm.read.ptx.sreg.nctaid.x : i32
  %4 = nvvm.read.ptx.sreg.laneid : i32
  %5 = nvvm.read.ptx.sreg.warpsize : i32
  %6 = nvvm.read.ptx.sreg.lanemask.lt : i32
  %7 = nvvm.shfl.sync bfly %i, %f, %i, %i : f32 -> f32
  %8 = nvvm.shfl.sync down %i, %i, %i, %i {return_value_and_is_valid} : i32 -> !llvm.struct<(i32, i1)>
  %9 = nvvm.vote.sync ballot %i, %b -> i32
  %10 = nvvm.match.sync all %i, %i : i32 -> !llvm.struct<(i32, i1)>
  %11 = nvvm.redux.sync umax %i, %i : i32 -> i32
  %12 = nvvm.redux.sync fmax %f, %i {abs = true, nan = true} : f32 -> f32
  %13 = nvvm.elect.sync -> i1
  nvvm.barrier
  nvvm.barrier id = %i number_of_threads = %i
  nvvm.bar.warp.sync %i : i32
  nvvm.cp.async.shared.global %s, %g, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
  nvvm.cp.async.shared.global %s, %g, 4, cache = ca, %i : !llvm.ptr<3>, !llvm.ptr<1>, i32
  nvvm.cp.async.commit.group
  nvvm.cp.async.wait.group 1
  %20 = nvvm.ldmatrix %s {num = 4 : i32, layout = #nvvm.mma_layout<row>,
    shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>}
    : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32, i32, i32)>
  %21 = nvvm.ldmatrix %s {num = 1 : i32, layout = #nvvm.mma_layout<col>,
    shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>}
    : (!llvm.ptr<3>) -> i32
  nvvm.stmatrix %s, %i, %i {layout = #nvvm.mma_layout<col>,
    shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>}
    : !llvm.ptr<3>, i32, i32
  %30 = nvvm.mma.sync A[%h, %h, %h, %h] B[%h, %h] C[%f, %f, %f, %f]
    {shape = #nvvm.shape<m = 16, n = 8, k = 16>,
     layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>}
    : (vector<2xf16>, vector<2xf16>, f32) -> !llvm.struct<(f32, f32, f32, f32)>
  %31 = nvvm.mma.sync A[%h, %h] B[%h] C[%h, %h]
    {shape = #nvvm.shape<m = 16, n = 8, k = 8>,
     layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>}
    : (vector<2xf16>, vector<2xf16>, vector<2xf16>) -> !llvm.struct<(vector<2xf16>, vector<2xf16>)>
  %32 = nvvm.mma.sync A[%i, %i, %i, %i] B[%i, %i] C[%f, %f, %f, %f]
    {shape = #nvvm.shape<m = 16, n = 8, k = 16>,
     layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>,
     multiplicandAPtxType = #nvvm.mma_type<bf16>, multiplicandBPtxType = #nvvm.mma_type<bf16>}
    : (i32, i32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
  %33 = nvvm.mma.sync A[%i, %i, %i, %i] B[%i, %i] C[%f, %f, %f, %f]
    {shape = #nvvm.shape<m = 16, n = 8, k = 8>,
     layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>,
     multiplicandAPtxType = #nvvm.mma_type<tf32>, multiplicandBPtxType = #nvvm.mma_type<tf32>}
    : (i32, i32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
  %40 = nvvm.rcp.approx.ftz.f %f : f32
  %41 = nvvm.convert.f32x2.to.f16x2 %f, %f {rnd = #nvvm.fp_rnd_mode<rn>} : vector<2xf16>
  %42 = nvvm.convert.f32x2.to.bf16x2 %f, %f {rnd = #nvvm.fp_rnd_mode<rn>} : vector<2xbf16>
  %43 = nvvm.convert.float.to.tf32 %f {rnd = #nvvm.fp_rnd_mode<rna>}
  %44 = nvvm.prmt #nvvm.permute_mode<f4e> %i, %i, %i : i32
  nvvm.memory.barrier #nvvm.mem_scope<cta>
  llvm.return
}
"""


def test_every_model_is_defined_and_registered_as_its_kind(nvidia: ModelLibrary) -> None:
    sources = sorted((EMULATOR / "models" / "nvidia").glob("*.c"))
    defined = {
        symbol: ModelKind(kind.lower())
        for source in sources
        for kind, symbol in DEFINITION.findall(source.read_text(encoding="utf-8"))
    }
    registered = {model.symbol: model.kind for model in MODELS.values() if model.symbol is not None}
    assert registered == defined
    for symbol in registered:
        assert nvidia.loaded[symbol]


def test_a_model_without_a_function_does_nothing() -> None:
    assert {model.kind for model in MODELS.values() if model.symbol is None} == {ModelKind.NOTHING}


def test_the_intrinsics_of_mlirs_operations_are_modelled() -> None:
    with ir.Context():
        text = llvm.translate_module_to_llvmir(ir.Module.parse(KERNEL).operation)
    called = set(re.findall(r"call .*@(llvm\.nvvm\.[\w.]+)", text))
    assert len(called) == 34
    assert called <= set(MODELS)
