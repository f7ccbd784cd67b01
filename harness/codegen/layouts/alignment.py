"""Alignment of accesses to memory: the power of two that is proven to divide the address in every lane.

An address is that of the tile's first element plus what lane and warp add plus a constant of the access.
What divides all three divides the address.
"""

import math
from dataclasses import dataclass
from functools import cached_property

from harness.codegen.layouts.contiguous_accesses import ContiguousAccess
from harness.codegen.layouts.formulas import formula
from harness.codegen.layouts.layout import Layout, Level
from harness.codegen.layouts.shared_memory_model import WIDEST_ACCESS_BYTES

BUFFER_ALIGNMENT = WIDEST_ACCESS_BYTES
"""Bytes of which every buffer's address is a multiple: arguments by what drivers allocate
(`harness.targets.gpu.driver`), buffers in shared memory by where they are placed."""


@dataclass(frozen=True)
class TileAlignment:
    """What is known of the addresses of a tile's elements before lane and warp are."""

    layout: Layout
    strides: tuple[int, ...]
    """For each axis of the tile the bytes between two neighbours, or a number that divides them."""
    first: int
    """A number of bytes that divides the address of the tile's first element."""

    def of(self, access: ContiguousAccess, element_bytes: int) -> int:
        """Return the alignment of an access in bytes: a power of two, no more than the access takes."""
        places = [
            self.layout.constant_part(axis, access.fragment, access.register) * stride
            for axis, stride in enumerate(self.strides)
        ]
        return math.gcd(self._of_all_lanes, sum(places), access.length * element_bytes)

    @cached_property
    def _of_all_lanes(self) -> int:
        """What divides the address of what fragment 0, register 0 is in every lane and warp."""
        terms = [
            term.stride * stride
            for axis, stride in enumerate(self.strides)
            for term in formula(self.layout, axis).of_level(Level.WARP, Level.LANE).terms
        ]
        return math.gcd(self.first, *terms)
