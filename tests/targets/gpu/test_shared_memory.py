"""Buffers in shared memory: those that are needed at the same time lie apart, others share it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mlir import ir

from harness.codegen.dialect.context import mlir_context
from harness.targets.gpu.shared_memory import ALIGNMENT, Placement, place

SPACE = "#gpu.address_space<workgroup>"


def placed(body: str, rows: list[int]) -> Placement:
    """Place the buffers %b0, %b1 …, of so many rows of 32 floats, that a body stores to by `use`."""
    kinds = [f"memref<{count}x32xf32, {SPACE}>" for count in rows]
    buffers = "\n".join(f"%b{number} = memref.alloc() : {kind}" for number, kind in enumerate(kinds))
    lines = []
    for line in body.splitlines():
        if line.strip().startswith("use"):
            number = int(line.split()[1])
            line = f"memref.store %x, %b{number}[%c0, %c0] : {kinds[number]}"
        lines.append(line)
    text = f"""func.func @kernel() {{
      {buffers}
      %x = arith.constant 1.0 : f32
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c9 = arith.constant 9 : index
      {chr(10).join(lines)}
      return
    }}"""
    with mlir_context():
        module = ir.Module.parse(text)
        return place(module.body.operations[0])


LOOP = "scf.for %i = %c0 to %c9 step %c1 {"
INNER = "scf.for %j = %c0 to %c9 step %c1 {\nuse 0\n}"


@pytest.mark.parametrize(
    ("body", "rows", "offsets", "size"),
    [
        ("use 0\nuse 0\nuse 1\nuse 1", [2, 3], (0, 0), 384),
        ("use 0\nuse 1\nuse 0", [2, 3], (384, 0), 640),
        ("use 0\nuse 1\nuse 2\nuse 1\nuse 3\nuse 0\nuse 3", [4, 2, 1, 1], (0, 512, 768, 512), 896),
        (f"use 0\n{LOOP}\nuse 1\nuse 1\nuse 0\n}}\nuse 2", [2, 3, 5], (384, 0, 0), 640),
        (f"{LOOP}\nuse 0\n{INNER}\nuse 1\nuse 2\nuse 1\n}}", [2, 2, 1], (0, 0, 256), 384),
    ],
    ids=["one after another", "at once", "between two", "copied before a loop", "of an iteration"],
)
def test_buffers_share_memory_that_is_not_needed_at_once(
    body: str, rows: list[int], offsets: tuple[int, ...], size: int
) -> None:
    found = placed(body, rows)
    assert (found.offsets, found.bytes) == (offsets, size)


def test_sizes_are_rounded_up_and_without_buffers_there_is_no_memory() -> None:
    assert placed("", []).bytes == 0
    with mlir_context():
        text = f"func.func @kernel() {{\n %b = memref.alloc() : memref<3xf16, {SPACE}>\n return\n}}"
        module = ir.Module.parse(text)
        assert place(module.body.operations[0]).bytes == ALIGNMENT


@settings(max_examples=30)
@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=14),
    st.lists(st.integers(1, 5), min_size=5, max_size=5),
)
def test_what_one_buffer_holds_is_there_until_its_last_use(order: list[int], rows: list[int]) -> None:
    """Executed: each buffer is filled where it is first used, and must be untouched wherever it is used."""
    found = placed("\n".join(f"use {number}" for number in order), rows)
    memory = [-1] * found.bytes
    for step, number in enumerate(order):
        start = found.offsets[number]
        extent = slice(start, start + found.buffers[number].bytes)
        if number not in order[:step]:
            memory[extent] = [number] * found.buffers[number].bytes
        assert set(memory[extent]) == {number}
    assert found.bytes <= sum(buffer.bytes for buffer in found.buffers)


PATHS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=4)
