"""The part of an element's coordinates that does not depend on lane and warp."""

from harness.layouts.layout import Layout


def constant_part(layout: Layout, axis: int, fragment: int, register: int) -> int:
    """Return the part of a coordinate that fragment and register make up: what it is in the first lane."""
    return int(layout.coordinate_table[0, 0, fragment, register, axis])
