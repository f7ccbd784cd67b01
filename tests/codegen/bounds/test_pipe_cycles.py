"""Lower bounds by part of a multiprocessor."""

import pytest
from test_simulation import CHIP

from harness.codegen.bounds.instruction import FMA, TENSOR, Instruction
from harness.codegen.bounds.pipe_cycles import bounding_pipe, pipe_cycles

TRACE = [
    Instruction(pipe=TENSOR, pipe_cycles=8),
    Instruction(pipe=FMA, pipe_cycles=2),
    Instruction(pipe=FMA, pipe_cycles=2),
    Instruction(shared_bytes=512),
    Instruction(shared_bytes=512, l2_bytes=512, is_copy=True),
]


def test_pipes_are_of_a_sub_core_and_memories_of_the_multiprocessor() -> None:
    assert pipe_cycles(TRACE, 8, CHIP) == {
        "tensor": 8 * 8 / 4,
        "fma": 4 * 8 / 4,
        "issue": 5 * 8 / 4,
        "shared": 1024 / 128 * 8,
        "l2": 512 / 64 * 8,
    }


@pytest.mark.parametrize(("modelled", "expected"), [(100.0, "tensor"), (120.0, "tensor"), (121.0, "latency")])
def test_the_busiest_part_bounds_unless_it_is_idle_half_of_the_time(modelled: float, expected: str) -> None:
    assert bounding_pipe({"fma": 20.0, "tensor": 60.0}, modelled) == expected
