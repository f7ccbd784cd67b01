"""The part of an element's coordinates that does not depend on lane and warp."""

from harness.layouts.formulas import formula
from harness.layouts.layout import Layout, Level


def constant_part(layout: Layout, axis: int, fragment: int, register: int) -> int:
    """Return the part of a coordinate that fragment and register make up."""
    numbers = {Level.BATCH: fragment, Level.VECTOR: register}
    return formula(layout, axis).of_level(Level.BATCH, Level.VECTOR).value(numbers)
