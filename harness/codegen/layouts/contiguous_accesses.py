"""Accesses of several elements at once: registers of a lane that are neighbours in memory."""

import functools
from collections.abc import Iterator
from dataclasses import dataclass

from harness.codegen.layouts.layout import Layout
from harness.codegen.layouts.shared_memory_model import WIDEST_ACCESS_BYTES


@dataclass(frozen=True)
class ContiguousAccess:
    """Registers of a fragment that are neighbours in memory."""

    fragment: int
    register: int
    length: int


@functools.lru_cache(maxsize=256)
def contiguous_accesses(layout: Layout, element_bytes: int) -> tuple[ContiguousAccess, ...]:
    """Return the registers that each access takes: neighbours along the last axis, a power of two of them."""
    return tuple(_accesses(layout, element_bytes))


def _accesses(layout: Layout, element_bytes: int) -> Iterator[ContiguousAccess]:
    axis = len(layout.axes) - 1
    most = WIDEST_ACCESS_BYTES // element_bytes
    for fragment in range(layout.fragments):
        register = 0
        while register < layout.registers:
            length = 1
            while length * 2 <= min(most, layout.registers - register) and are_neighbours(
                layout, axis, fragment, register, length * 2
            ):
                length *= 2
            yield ContiguousAccess(fragment, register, length)
            register += length


def are_neighbours(layout: Layout, axis: int, fragment: int, register: int, count: int) -> bool:
    """Return whether registers from this one on hold elements one after another along an axis."""
    for other in range(len(layout.axes)):
        start = layout.constant_part(other, fragment, register)
        step = 1 if other == axis else 0
        for offset in range(count):
            if layout.constant_part(other, fragment, register + offset) != start + step * offset:
                return False
    return True
