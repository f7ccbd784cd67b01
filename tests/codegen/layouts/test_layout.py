"""The algebra of layouts."""

import numpy as np
from generated_layouts import layouts
from hypothesis import given

from harness.codegen.layouts.formulas import formula
from harness.codegen.layouts.instructions import nvidia
from harness.codegen.layouts.layout import Layout, Level, Place, compose, lane, tiled, warp

A, B, C = nvidia.A_16_BIT, nvidia.B_16_BIT, nvidia.ACCUMULATOR


@given(layouts())
def test_every_element_is_held_by_as_many_places_as_there_are_replicas(layout: Layout) -> None:
    assert sorted(layout.owners) == list(np.ndindex(*layout.shape))
    assert {len(places) for places in layout.owners.values()} == {layout.replicas}


@given(layouts())
def test_coordinates_agree_with_table_and_formulas(layout: Layout) -> None:
    for place in layout.places():
        element = layout.coordinate_table[place.warp, place.lane, place.fragment, place.register]
        assert tuple(element) == layout.coordinates(place)
        numbers = {
            Level.WARP: place.warp,
            Level.LANE: place.lane,
            Level.BATCH: place.fragment,
            Level.VECTOR: place.register,
        }
        assert tuple(element) == tuple(formula(layout, axis).value(numbers) for axis in range(2))


@given(layouts())
def test_a_slice_holds_the_rows_where_the_layout_has_them(layout: Layout) -> None:
    rows = layout.slice(1)
    assert rows.shape == layout.shape[:1]
    assert (rows.warps, rows.lanes) == (layout.warps, layout.lanes)
    for place in layout.places():
        row = layout.coordinates(place)[0]
        assert any((owner.warp, owner.lane) == (place.warp, place.lane) for owner in rows.owners[(row,)])


@given(layouts(axes=2))
def test_composition_is_a_layout_of_tiles(inner: Layout) -> None:
    outer_dimension = warp("outer", 3)
    outer = Layout(axes=((outer_dimension,), ()), order=(outer_dimension,))
    whole = compose(outer, inner)
    assert whole.shape == (3 * inner.shape[0], inner.shape[1])
    tiles = {tuple(element) for element in whole.coordinate_table.reshape(-1, 2)}
    assert tiles == set(np.ndindex(*whole.shape))


def test_warps_take_neighbouring_tiles_of_several_fragments() -> None:
    layout = tiled(C, fragments=(2, 4), warps=(4, 1))
    assert layout.shape == (4 * 2 * 16, 4 * 8)
    assert layout.coordinates(Place(warp=1, lane=0, fragment=0, register=0)) == (32, 0)
    assert layout.coordinates(Place(warp=0, lane=0, fragment=1, register=0)) == (0, 8)
    assert layout.coordinates(Place(warp=0, lane=0, fragment=4, register=0)) == (16, 0)


def test_layouts_that_are_written_differently_can_be_equivalent() -> None:
    whole = Layout(axes=((lane("x", 8),),), order=(lane("x", 8),))
    split = Layout(axes=((lane("y", 2), lane("x", 4)),), order=(lane("y", 2), lane("x", 4)))
    assert whole != split
    assert whole.is_equivalent(split)
    assert not whole.is_equivalent(Layout(axes=((lane("x", 4), lane("y", 2)),), order=split.order))
