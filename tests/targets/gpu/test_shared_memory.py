"""Buffers in shared memory: those that are needed at the same time lie apart, others share it."""

from hypothesis import given
from hypothesis import strategies as st
from mlir import ir

from harness.dialect.context import mlir_context
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


def test_buffers_one_after_another_share_memory() -> None:
    found = placed("use 0\nuse 0\nuse 1\nuse 1", [2, 3])
    assert (found.offsets, found.bytes) == ((0, 0), 384)


def test_buffers_at_the_same_time_lie_apart() -> None:
    found = placed("use 0\nuse 1\nuse 0", [2, 3])
    assert (sorted(found.offsets), found.bytes) == ([0, 384], 640)


def test_a_buffer_may_lie_between_two_that_are_needed_longer() -> None:
    found = placed("use 0\nuse 1\nuse 2\nuse 1\nuse 3\nuse 0\nuse 3", [4, 2, 1, 1])
    assert found.offsets == (0, 512, 768, 512)
    assert found.bytes == 7 * ALIGNMENT


def test_what_is_copied_before_a_loop_for_its_first_iteration_is_needed_in_all_of_it() -> None:
    body = """
      use 0
      scf.for %i = %c0 to %c9 step %c1 {
        use 1
        use 1
        use 0
      }
      use 2"""
    found = placed(body, [2, 3, 5])
    assert found.offsets == (384, 0, 0)


def test_buffers_of_an_iteration_one_after_another_share_memory() -> None:
    body = """
      scf.for %i = %c0 to %c9 step %c1 {
        use 0
        scf.for %j = %c0 to %c9 step %c1 {
          use 0
        }
        use 1
        use 2
        use 1
      }"""
    found = placed(body, [2, 2, 1])
    assert found.offsets == (0, 0, 256)


def test_sizes_are_rounded_up_and_without_buffers_there_is_no_memory() -> None:
    assert placed("", []).bytes == 0
    with mlir_context():
        text = f"func.func @kernel() {{\n %b = memref.alloc() : memref<3xf16, {SPACE}>\n return\n}}"
        module = ir.Module.parse(text)
        assert place(module.body.operations[0]).bytes == ALIGNMENT


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
