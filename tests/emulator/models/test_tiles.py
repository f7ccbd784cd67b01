"""The models of AMX's instructions, called as code for processors without tiles calls them."""

import ctypes
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from harness.emulator.native_library import compiler, library

pytestmark = pytest.mark.skipif(compiler() is None, reason="no C compiler")

ROWS, ROW_BYTES = 16, 64
SMALLEST_NORMAL = 2.0**-126


def called(name: str, result: Any, *arguments: Any) -> Any:
    """Call a model: integers are shapes, arrays are pointers."""
    function = getattr(library(), name)
    function.restype = result
    return function(*arguments)


def loaded(array: np.ndarray, rows: int = ROWS, row_bytes: int = ROW_BYTES) -> ctypes.c_void_p:
    stride = ctypes.c_int64(array.strides[0])
    pointer = ctypes.c_void_p(array.ctypes.data)
    return ctypes.c_void_p(called("harness_tileloadd64", ctypes.c_void_p, rows, row_bytes, pointer, stride))


def product(c: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return c + a·b of `[16, 16]`, `[16, 32]` and `[32, 16]`, b packed in pairs of rows."""
    packed = np.ascontiguousarray(b.reshape(16, 2, 16).transpose(0, 2, 1)).reshape(16, 32)
    shape = (ROWS, ROW_BYTES, ROW_BYTES)
    tile = called("harness_tdpbf16ps", ctypes.c_void_p, *shape, loaded(c), loaded(a), loaded(packed))
    result = np.full((ROWS, 20), np.nan, np.float32)
    place, stride = ctypes.c_void_p(result.ctypes.data), ctypes.c_int64(result.strides[0])
    called("harness_tilestored64", None, ROWS, ROW_BYTES, place, stride, ctypes.c_void_p(tile))
    assert np.isnan(result[:, 16:]).all()
    return result[:, :16]


def bf16(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array).astype(ml_dtypes.bfloat16)


def test_a_product_adds_up_pairs_along_the_depth() -> None:
    random = np.random.default_rng(0)
    a, b = bf16(random.standard_normal((16, 32))), bf16(random.standard_normal((32, 16)))
    c = random.standard_normal((16, 16)).astype(np.float32)
    expected = c + a.astype(np.float64) @ b.astype(np.float64)
    assert np.abs(product(c, a, b) - expected).max() < 1e-5


def test_subnormal_numbers_count_as_nothing() -> None:
    one = bf16(np.eye(16, 32))
    b = bf16(np.zeros((32, 16)))
    b[0, :2] = SMALLEST_NORMAL, SMALLEST_NORMAL / 2
    c = np.zeros((16, 16), np.float32)
    c[1, :2] = SMALLEST_NORMAL, SMALLEST_NORMAL / 2
    result = product(c, one, b)
    assert result[0, :2].tolist() == result[1, :2].tolist() == [SMALLEST_NORMAL, 0.0]


def test_what_a_shape_leaves_out_is_nothing() -> None:
    ones = np.ones((ROWS, 16), np.float32)
    tile = loaded(ones, rows=3, row_bytes=8)
    result = np.full((ROWS, 16), np.nan, np.float32)
    place, stride = ctypes.c_void_p(result.ctypes.data), ctypes.c_int64(result.strides[0])
    called("harness_tilestored64", None, ROWS, ROW_BYTES, place, stride, tile)
    assert result.sum() == result[:3, :2].sum() == 6
