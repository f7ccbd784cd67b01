"""Which matrices of an operand are loaded at once: of as many steps of a product as follow, or of one."""

import pytest

from harness.codegen.layouts.distribution.nvidia.ldmatrix import MatrixLoad, matrix_loads
from harness.codegen.layouts.instructions.registry import instruction
from harness.codegen.layouts.layout import Layout, tiled

MMA = instruction("mma.sync.m16n8k16")
KEYS, VALUES = tiled(MMA.b, (8, 4)), tiled(MMA.b, (8, 4)).transposed()
"""64 keys × 64 columns for Q·Kᵀ, whose depth is along columns, and for P·V, where it is along keys."""


def depths(layout: Layout, load: MatrixLoad, axis: int) -> set[int]:
    """Return where along its depth the fragments of a load begin."""
    return {layout.constant_part(axis, fragment, 0) for fragment, _ in load.matrices}


@pytest.mark.parametrize(("layout", "depth"), [(KEYS, 1), (VALUES, 0)], ids=["keys", "values"])
def test_a_load_has_matrices_of_two_steps_or_of_one(layout: Layout, depth: int) -> None:
    found = {by_step: matrix_loads(layout, by_step=by_step) for by_step in (False, True)}
    for by_step, loads in found.items():
        assert {len(load.matrices) for load in loads} == {4}
        assert {len(depths(layout, load, depth)) for load in loads} == {1 if by_step else 2}
    first, second = (sorted(place for load in loads for place in load.matrices) for loads in found.values())
    assert first == second


def test_loads_of_one_step_come_before_those_of_the_next() -> None:
    steps = [min(depths(KEYS, load, 1)) for load in matrix_loads(KEYS, by_step=True)]
    assert steps == sorted(steps)
