"""Each rule of distribution, executed lane by lane: kernels of a few operations against NumPy."""

import re
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from sweeps import sweep
from vector_kernels import run_kernel

from harness.system.errors import BuildError

RNG = np.random.default_rng(7)

CONSTANTS = """
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %none = arith.constant 0.0 : f32
  %nothing = arith.constant 0.0 : f16
"""


def matrix(rows: int, columns: int, dtype: type = np.float32) -> np.ndarray:
    return RNG.standard_normal((rows, columns)).astype(dtype)


def read(source: str, rows: int, columns: int, element: str = "f32", place: str = "%c0, %c0") -> str:
    padding = "%none" if element == "f32" else "%nothing"
    return (
        f"vector.transfer_read {source}[{place}], {padding} {{in_bounds = [true, true]}} : "
        f"memref<{rows}x{columns}x{element}>, vector<{rows}x{columns}x{element}>"
    )


def write(value: str, rows: int, columns: int, element: str = "f32") -> str:
    return (
        f"vector.transfer_write {value}, %out[%c0, %c0] {{in_bounds = [true, true]}} : "
        f"vector<{rows}x{columns}x{element}>, memref<{rows}x{columns}x{element}>"
    )


def bases_of_matrix_loads(distributed: str) -> set[tuple[str, str]]:
    """Return the different pairs of a buffer and a place in it from which `ldmatrix` are constants away."""
    constants = set(re.findall(r"(%\w+) = arith.constant \d+ : index", distributed))
    sums = {
        name: first
        for name, first, second in re.findall(r"(%\w+) = arith.addi (%\w+), (%\w+) : index", distributed)
        if second in constants and first not in constants
    }
    loads = re.findall(r"nvgpu.ldmatrix (%\w+)\[(%\w+)\]", distributed)
    assert len(loads) == distributed.count("nvgpu.ldmatrix") > 2
    return {(buffer, sums.get(place, place)) for buffer, place in loads}


@pytest.mark.parametrize(("kind", "expected"), [("add", np.sum), ("maximumf", np.max)])
def test_a_reduction_along_rows_ends_in_all_lanes_of_a_row(tmp_path: Path, kind: str, expected) -> None:
    body = f"""{CONSTANTS}
      %x = {read("%in0", 32, 48)}
      %start = arith.constant dense<0.5> : vector<32xf32>
      %row = vector.multi_reduction <{kind}>, %x, %start [1] : vector<32x48xf32> to vector<32xf32>
      %wide = vector.broadcast %row : vector<32xf32> to vector<48x32xf32>
      %same = vector.transpose %wide, [1, 0] : vector<48x32xf32> to vector<32x48xf32>
      {write("%same", 32, 48)}"""
    x = matrix(32, 48)
    output, _ = run_kernel(body, [x], np.empty_like(x), warps=2, folder=tmp_path)
    start = np.full((32, 1), 0.5, np.float32)
    rows = expected(np.concatenate([x, start], axis=1), axis=1)
    np.testing.assert_allclose(output, np.repeat(rows[:, None], 48, axis=1), rtol=1e-5)


def test_a_reduction_along_columns_crosses_the_lanes_of_a_column(tmp_path: Path) -> None:
    body = f"""{CONSTANTS}
      %x = {read("%in0", 16, 8)}
      %start = arith.constant dense<0.0> : vector<8xf32>
      %column = vector.multi_reduction <add>, %x, %start [0] : vector<16x8xf32> to vector<8xf32>
      %same = vector.broadcast %column : vector<8xf32> to vector<16x8xf32>
      {write("%same", 16, 8)}"""
    x = matrix(16, 8)
    output, _ = run_kernel(body, [x], np.empty_like(x), folder=tmp_path)
    np.testing.assert_allclose(output, np.repeat(x.sum(axis=0)[None], 16, axis=0), rtol=1e-5, atol=1e-6)


def test_a_reduction_across_warps_is_refused(tmp_path: Path) -> None:
    body = f"""{CONSTANTS}
      %x = {read("%in0", 32, 8)}
      %start = arith.constant dense<0.0> : vector<8xf32>
      %column = vector.multi_reduction <add>, %x, %start [0] : vector<32x8xf32> to vector<8xf32>
      %same = vector.broadcast %column : vector<8xf32> to vector<32x8xf32>
      {write("%same", 32, 8)}"""
    x = matrix(32, 8)
    with pytest.raises(BuildError, match="a reduction across warps"):
        run_kernel(body, [x], np.empty_like(x), warps=2, folder=tmp_path)


def test_coordinates_masks_and_selections(tmp_path: Path) -> None:
    """Below the diagonal and within columns 3 to 5 the value stays, elsewhere it is 0."""
    counting = ", ".join(map(str, range(16)))
    within = ", ".join("true" if 3 <= column <= 5 else "false" for column in range(16))
    body = f"""{CONSTANTS}
      %x = {read("%in0", 16, 16)}
      %zero = arith.constant dense<0.0> : vector<16x16xf32>
      %count = arith.constant dense<[{counting}]> : vector<16xi32>
      %columns = vector.broadcast %count : vector<16xi32> to vector<16x16xi32>
      %rows = vector.transpose %columns, [1, 0] : vector<16x16xi32> to vector<16x16xi32>
      %below = arith.cmpi sge, %rows, %columns : vector<16x16xi32>
      %some = arith.constant dense<[{within}]> : vector<16xi1>
      %chosen = vector.broadcast %some : vector<16xi1> to vector<16x16xi1>
      %both = arith.andi %below, %chosen : vector<16x16xi1>
      %kept = arith.select %both, %x, %zero : vector<16x16xi1>, vector<16x16xf32>
      {write("%kept", 16, 16)}"""
    x = matrix(16, 16)
    output, _ = run_kernel(body, [x], np.empty_like(x), folder=tmp_path)
    row, column = np.indices((16, 16))
    np.testing.assert_array_equal(output, np.where((row >= column) & (column >= 3) & (column <= 5), x, 0))


TRANSPOSED, STRAIGHT = "#rows_depth, #columns_depth", "#rows_depth, #depth_columns"


def product(maps: str, values: str, left: str, right: str, result: str) -> str:
    return (
        f"vector.contract {{indexing_maps = [{maps}, #rows_columns], iterator_types = "
        f'["parallel", "parallel", "reduction"], kind = #vector.kind<add>}} {values} : '
        f"vector<{left}>, vector<{right}> into vector<{result}>"
    )


PRODUCTS = [
    ("mma.sync.m16n8k16", np.float16, "f16"),
    ("mma.sync.m16n8k16.bf16", ml_dtypes.bfloat16, "bf16"),
    ("mma.sync.m16n8k8.tf32", np.float32, "f32"),
]


@pytest.mark.parametrize(
    ("matrix_name", "dtype", "element"),
    sweep(PRODUCTS, but=PRODUCTS[::2]),
)
@pytest.mark.parametrize("is_transposed", sweep([False, True], but=[True]))
def test_products_of_tiles_that_pass_through_shared_memory(
    tmp_path: Path, matrix_name: str, dtype: type, element: str, is_transposed: bool
) -> None:
    shape = (64, 16) if is_transposed else (16, 64)
    second = "#depth_columns" if is_transposed else "#columns_depth"
    padding = f"%pad = arith.constant 0.0 : {element}"
    right_type = f"{shape[0]}x{shape[1]}x{element}"
    body = f"""{CONSTANTS}
      {padding}
      %a = vector.transfer_read %in0[%c0, %c0], %pad {{in_bounds = [true, true]}}
        : memref<64x64x{element}>, vector<64x64x{element}>
      %b = vector.transfer_read %in1[%c0, %c0], %pad {{in_bounds = [true, true]}}
        : memref<{right_type}>, vector<{right_type}>
      %c = {read("%in2", 64, 16)}
      %d = {product(f"#rows_depth, {second}", "%a, %b, %c", f"64x64x{element}", f"{right_type}", "64x16xf32")}
      {write("%d", 64, 16)}"""
    a, b, c = matrix(64, 64, dtype), matrix(*shape, dtype), matrix(64, 16)
    if element == "f32":  # the matrix unit reads 10 bits of a mantissa
        a, b = ((x.view(np.uint32) & 0xFFFFE000).view(np.float32) for x in (a, b))
    output, texts = run_kernel(
        body, [a, b, c], np.empty_like(c), warps=4, matrix=matrix_name, folder=tmp_path
    )
    wide = [x.astype(np.float64) for x in (a, b)]
    expected = c + wide[0] @ (wide[1] if is_transposed else wide[1].T)
    np.testing.assert_allclose(output, expected, rtol=1e-4, atol=1e-4)
    assert "cp.async.cg.shared.global" in texts["optimized"]
    assert ("ldmatrix" in texts["optimized"]) == (element != "f32")
    if element != "f32":
        assert "shufflevector" not in texts["nvvm"], "pairs of registers are taken as they were loaded"
        assert len(bases_of_matrix_loads(texts["distributed"])) == 2, "one for each operand"


def test_infinite_operands_of_single_precision_give_what_they_give_elsewhere(tmp_path: Path) -> None:
    """Infinities keep their sign, whatever the other operand is; 0·∞, ∞ − ∞ and NaN give NaN.

    A matrix unit does not read the lower bits of a NaN, which may be the only ones that are set.
    """
    body = f"""{CONSTANTS}
      %a = {read("%in0", 16, 16)}
      %b = {read("%in1", 16, 16)}
      %c = {read("%in2", 16, 16)}
      %d = {product(TRANSPOSED, "%a, %b, %c", "16x16xf32", "16x16xf32", "16x16xf32")}
      {write("%d", 16, 16)}"""
    a, b, c = matrix(16, 16), matrix(16, 16), np.zeros((16, 16), np.float32)
    a[0, 0], a[1, 3], a[2, 5], a[3, 0], a[4, 0] = np.inf, -np.inf, np.nan, 0, 1e4
    a.view(np.uint32)[5:7, 2] = 0x7F800001, 0xFF801FFF
    b[0, 0], b[5, 0], b[7, 3], b[9, 3] = np.inf, -np.inf, -np.inf, 0
    matrix_name = "mma.sync.m16n8k8.tf32x3"
    output, _ = run_kernel(body, [a, b, c], np.empty_like(c), matrix=matrix_name, folder=tmp_path)
    with np.errstate(invalid="ignore"):
        expected = a.astype(np.float64) @ b.astype(np.float64).T
    assert np.isinf(expected).any()
    assert np.isnan(expected).sum() < expected.size / 2
    np.testing.assert_allclose(output, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", sweep([np.float32, np.float16], but=[np.float16]))
def test_a_statistic_of_rows_that_is_wanted_along_columns_is_exchanged_between_lanes(
    tmp_path: Path, dtype: type
) -> None:
    element = "f32" if dtype == np.float32 else "f16"
    body = f"""{CONSTANTS}
      %x = {read("%in0", 16, 16, element)}
      %start = arith.constant dense<-100.0> : vector<16x{element}>
      %row = vector.multi_reduction <maximumf>, %x, %start [1]
        : vector<16x16x{element}> to vector<16x{element}>
      %columns = vector.broadcast %row : vector<16x{element}> to vector<16x16x{element}>
      %sum = arith.addf %x, %columns : vector<16x16x{element}>
      {write("%sum", 16, 16, element)}"""
    x = matrix(16, 16, dtype)
    output, texts = run_kernel(body, [x], np.empty_like(x), folder=tmp_path)
    np.testing.assert_array_equal(output, x + x.max(axis=1)[None])
    assert 'conflict = "lane"' in texts["laid-out"]
    assert "shfl.sync.idx" in texts["optimized"]


@pytest.mark.parametrize("iterations", sweep([1, 3], but=[3]))
def test_a_result_that_all_warps_take_as_their_right_operand_is_exchanged(
    tmp_path: Path, iterations: int
) -> None:
    """In a loop the memory of one iteration must not be overwritten while others still read it."""
    rows = 64 * iterations
    body = f"""{CONSTANTS}
      %end = arith.constant {rows} : index
      %a = {read("%in0", 64, 64, "f16")}
      %start = arith.constant dense<0.0> : vector<64x64xf32>
      %sum = scf.for %i = %c0 to %end step %c64 iter_args(%total = %start) -> (vector<64x64xf32>) {{
        %b = vector.transfer_read %in1[%i, %c0], %nothing {{in_bounds = [true, true]}}
          : memref<{rows}x16xf16>, vector<64x16xf16>
        %k = vector.transfer_read %in2[%c0, %c0], %nothing {{in_bounds = [true, true]}}
          : memref<64x16xf16>, vector<64x16xf16>
        %zero = arith.constant dense<0.0> : vector<64x64xf32>
        %s = {product(TRANSPOSED, "%b, %k, %zero", "64x16xf16", "64x16xf16", "64x64xf32")}
        %p = arith.truncf %s : vector<64x64xf32> to vector<64x64xf16>
        %next = {product(TRANSPOSED, "%a, %p, %total", "64x64xf16", "64x64xf16", "64x64xf32")}
        scf.yield %next : vector<64x64xf32>
      }}
      {write("%sum", 64, 64)}"""
    a, b, k = (matrix(*shape, np.float16) for shape in ((64, 64), (rows, 16), (64, 16)))
    place = np.empty((64, 64), np.float32)
    output, texts = run_kernel(body, [a, b, k], place, warps=4, folder=tmp_path)
    wide = [x.astype(np.float32) for x in (a, b, k)]
    expected = sum(
        wide[0] @ (wide[1][first : first + 64] @ wide[2].T).astype(np.float16).astype(np.float32).T
        for first in range(0, rows, 64)
    )
    np.testing.assert_allclose(output, expected, rtol=2e-2, atol=0.5)
    assert texts["laid-out"].count('conflict = "lane, through shared memory"') == 1
