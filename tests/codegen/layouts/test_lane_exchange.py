"""Conversions between lanes, executed lane by lane: a matrix plus its transpose against NumPy."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import vector_kernels
from vector_kernels import run_kernel

from harness.codegen.layouts.instructions.registry import instruction
from harness.codegen.layouts.layout import Layout, lane, vector

RNG = np.random.default_rng(11)
MMA = "mma.sync.m16n8k16"


def sum_with_transpose(size: int, dtype: type, folder: Path) -> tuple[np.ndarray, np.ndarray, dict[str, str]]:
    """Return y + yᵀ for y = x·x as the kernel and as NumPy computes it, and the text of each stage."""
    element = "f32" if dtype == np.float32 else "f16"
    memory, kind = f"memref<{size}x{size}x{element}>", f"vector<{size}x{size}x{element}>"
    body = f"""
      %c0 = arith.constant 0 : index
      %none = arith.constant 0.0 : {element}
      %x = vector.transfer_read %in0[%c0, %c0], %none {{in_bounds = [true, true]}} : {memory}, {kind}
      %y = arith.mulf %x, %x : {kind}
      %t = vector.transpose %y, [1, 0] : {kind} to {kind}
      %sum = arith.addf %y, %t : {kind}
      vector.transfer_write %sum, %out[%c0, %c0] {{in_bounds = [true, true]}} : {kind}, {memory}"""
    x: np.ndarray = RNG.standard_normal((size, size)).astype(dtype)
    found, texts = run_kernel(body, [x], np.empty_like(x), folder=folder)
    return found, x * x + (x * x).T, texts


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("size", [16, 48])
def test_lanes_exchange_elements_with_their_transpose(tmp_path: Path, size: int, dtype: type) -> None:
    found, expected, texts = sum_with_transpose(size, dtype, tmp_path)
    np.testing.assert_array_equal(found, expected)
    assert texts["laid-out"].count('conflict = "lane"') == 1
    assert "shfl.sync.idx" in texts["optimized"]


def test_bits_of_lanes_and_registers_change_places_by_shuffles_by_xor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lane has a row of a 4×4 matrix and wants a column: one element stays, three come from other lanes."""
    row, column, rest = lane("x", 4), vector("x", 4), lane("y", 8)
    rows = Layout(((row,), (column,)), (rest, row, column))
    small = replace(instruction(MMA), m=4, n=4, k=4, a=rows, b=rows, c=rows)
    monkeypatch.setattr(vector_kernels, "instruction", lambda name: small)
    found, expected, texts = sum_with_transpose(4, np.float32, tmp_path)
    np.testing.assert_array_equal(found, expected)
    assert texts["laid-out"].count('conflict = "lane"') == 1
    assert texts["distributed"].count("gpu.shuffle  xor") == 4 * 3
    assert "gpu.shuffle  idx" not in texts["distributed"]
