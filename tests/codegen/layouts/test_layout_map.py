"""The linear map of a layout: agreement with its table of coordinates."""

import numpy as np
import pytest
from generated_layouts import POWERS_OF_TWO, layouts
from hypothesis import given

from harness.codegen.layouts.instructions import nvidia
from harness.codegen.layouts.layout import Layout, Level, tiled
from harness.codegen.layouts.layout_map import element_numbers, is_linear, layout_map


@given(layouts(sizes=POWERS_OF_TWO))
def test_the_map_gives_the_element_of_every_place(layout: Layout) -> None:
    function = layout_map(layout)
    numbers = element_numbers(layout.coordinate_table, layout.shape).ravel()
    assert [function(place) for place in range(1 << function.bits)] == numbers.tolist()


@given(layouts())
def test_elements_have_different_numbers(layout: Layout) -> None:
    numbers = element_numbers(layout.coordinate_table, layout.shape)
    assert len(np.unique(numbers)) == np.prod(layout.shape)


def test_bits_of_an_operand() -> None:
    """Register bits are column 0, row 3 and column 3; lane bits columns 1 and 2, then rows 0 to 2."""
    column, row = 1, 16
    assert layout_map(nvidia.A_16_BIT).images == (
        column, row << 3, column << 3, column << 1, column << 2, row, row << 1, row << 2
    )  # fmt: skip


def test_a_row_statistic_is_mapped_by_the_kept_axis() -> None:
    layout = tiled(nvidia.ACCUMULATOR, (1, 2))
    assert layout_map(layout, [Level.LANE], axes=[0]).images == (0, 0, 1, 2, 4)
    assert layout_map(layout.slice(1), [Level.LANE]).images == (0, 0, 1, 2, 4)


def test_lanes_are_linear_beside_an_odd_number_of_fragments() -> None:
    layout = tiled(nvidia.ACCUMULATOR, (1, 3))
    assert is_linear(layout, [Level.LANE])
    assert not is_linear(layout)
    with pytest.raises(ValueError, match=r"no powers of two.*batch_column 3"):
        layout_map(layout)
