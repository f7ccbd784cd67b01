"""Staging through registers: where a loop loads and stores its next tiles, and how they lie."""

import functools
import re

import pytest
from emulated_runs import built, text

from harness.problem.attention_problem import AttentionProblem

PROBLEM = AttentionProblem(heads=1, seq_q=128, seq_kv=256, head_dim=64, dtype="f16")


@functools.cache
def staged(slots: int = 1) -> list[str]:
    """Return the lines of the loop over keys at the stage `staged`."""
    lines = text(*built(PROBLEM, "rocm:gfx942", options={"staging_slots": slots}), "staged").splitlines()
    first = next(number for number, line in enumerate(lines) if "scf.for" in line and "iter_args" in line)
    last = next(number for number, line in enumerate(lines) if number > first and "scf.yield" in line)
    return lines[first:last]


def positions(lines: list[str], pattern: str) -> list[int]:
    return [number for number, line in enumerate(lines) if re.search(pattern, line)]


@pytest.mark.parametrize(("slots", "barriers"), [(1, 2), (2, 1)])
def test_tiles_are_loaded_before_the_products_and_stored_after(slots: int, barriers: int) -> None:
    loop = staged(slots)
    products = positions(loop, "vector.contract")
    loads = positions(loop, r"transfer_read %arg\d")
    stores = positions(loop, "transfer_write")
    assert (len(loads), len(products), len(stores)) == (2, 2, 2)
    assert max(loads) < min(products)
    assert max(products) < min(stores)
    assert len(positions(loop, "gpu.barrier")) == barriers


def test_values_lie_transposed_and_padded_by_the_bank_model() -> None:
    loop = staged()
    (transpose,) = [
        line
        for line in loop
        if "vector.transpose" in line
        and ", [1, 0]" in line
        and "xf16" in line
        and "transfer_read" not in line
        and line in loop[positions(loop, "vector.contract")[-1] :]
    ]
    name = transpose.split()[0]
    (write,) = [line for line in loop if f"transfer_write {name}," in line]
    assert "memref<1x64x68xf16" in write


def test_no_branch_keeps_a_load_where_it_is() -> None:
    assert positions(staged(), "scf.if") == []
