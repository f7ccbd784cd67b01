"""2^x as the `exponential` stage writes it, computed by machine code for all kinds of float32."""

import ctypes

import llvmlite.binding as llvm
import numpy as np
import pytest
from mlir import ir

from harness.codegen.dialect.context import mlir_context
from harness.targets.cpu.chip import chip
from harness.targets.cpu.exponential import expand_exponentials
from harness.targets.cpu.object_code import emit_llvm_ir, target_machine
from harness.targets.cpu.vector_lowering import lower_to_llvm

KERNEL = """
func.func @powers(%x: memref<1xf32>, %out: memref<1xf32>, %count: index) {
  %c0 = arith.constant 0 : index
  %step = arith.constant STEP : index
  %from = memref.reinterpret_cast %x to offset: [0], sizes: [%count], strides: [1]
    : memref<1xf32> to memref<?xf32>
  %to = memref.reinterpret_cast %out to offset: [0], sizes: [%count], strides: [1]
    : memref<1xf32> to memref<?xf32>
  scf.for %i = %c0 to %count step %step {
    %elements = vector.load %from[%i] : memref<?xf32>, vector<STEPxf32>
    %power = math.exp2 %elements : vector<STEPxf32>
    vector.store %power, %to[%i] : memref<?xf32>, vector<STEPxf32>
  }
  return
}
"""


@pytest.fixture(scope="module", params=[8, 16], ids=["polynomial", "own instructions"])
def lanes(request):
    """How many elements a vector has."""
    if request.param > chip("host").registers.vector_length:
        pytest.skip("this processor has no AVX-512")
    return request.param


@pytest.fixture(scope="module")
def engine(lanes):
    with mlir_context():
        module = ir.Module.parse(KERNEL.replace("STEP", str(lanes)))
        expand_exponentials(module, lanes)
        lower_to_llvm(module)
        llvm_ir = emit_llvm_ir(module)
    machine = target_machine(chip("host"))
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(llvm_ir), machine)
    engine.finalize_object()
    return engine


@pytest.fixture(scope="module")
def powers(engine, lanes):
    """The function from a float32 array to 2^x of its elements."""
    signature = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    call = signature(engine.get_function_address("powers"))

    def compute(exponents) -> np.ndarray:
        count = np.size(exponents)
        x = np.zeros(-(-count // lanes) * lanes, np.float32)
        x[:count] = exponents
        result = np.full_like(x, np.nan)
        call(x.ctypes.data, result.ctypes.data, x.size)
        return result[:count]

    return compute


@pytest.mark.parametrize(
    "exponents",
    [
        np.linspace(-126, 0, 1_000_001),
        -np.logspace(-12, 0, 100_001),
        np.linspace(0, 127, 100_001),
    ],
    ids=["the whole range", "next to zero", "rounding above zero"],
)
def test_the_relative_error_is_small(powers, exponents):
    exponents = exponents.astype(np.float32)
    exact = np.exp2(exponents.astype(np.float64))
    assert (np.abs(powers(exponents) - exact) / exact).max() <= 2.5e-7


def test_whole_exponents_are_exact(powers):
    exponents = np.arange(-126, 1, dtype=np.float32)
    np.testing.assert_array_equal(powers(exponents), np.exp2(exponents))


def test_below_the_range_it_is_small_and_then_zero(powers):
    assert not powers([-np.inf, -1e30, -1000.0, -151.0]).any()
    results = powers(np.linspace(-127, -126, 10_001))
    assert results.min() >= 0
    assert results.max() <= 2.0**-126


@pytest.mark.parametrize("sign", [0, 1])
def test_each_nan_stays_nan(powers, sign):
    """Those of many payloads, quiet and signalling."""
    payloads = np.arange(1, 2**23, 7, dtype=np.uint32)
    nans = (payloads | 0x7F800000 | sign << 31).view(np.float32)
    assert np.isnan(powers(nans)).all()
