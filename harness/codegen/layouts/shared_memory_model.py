"""A vendor's shared memory as data: its banks, and which lanes it serves at a time.

Lanes of one phase that ask the same bank for different words wait for each other.
"""

from dataclasses import dataclass

WIDEST_ACCESS_BYTES = 16
"""What a load, a store or a copy of one lane moves at most, on the GPUs of all vendors."""

LaneGroups = tuple[tuple[int, ...], ...]
"""The lanes of each phase of an access, in order."""


@dataclass(frozen=True)
class Banks:
    """Banks, and the phases in which lanes are served, by how many bytes each of them accesses."""

    count: int
    word_bytes: int
    """Bytes of a bank's word."""
    phases: tuple[tuple[int, LaneGroups], ...]
    """For each number of bytes, ascending: lanes that are served together.  Fewer bytes have the phases of
    the next larger number."""

    def lanes_at_a_time(self, access_bytes: int) -> LaneGroups:
        """Return the lanes of each phase of an access; raises `ValueError` where none is so wide."""
        for bytes_, groups in self.phases:
            if access_bytes <= bytes_:
                return groups
        raise ValueError(f"no access to shared memory takes {access_bytes} bytes")


@dataclass(frozen=True)
class SharedMemoryModel:
    """The banks as lanes find them that read, and as lanes find them that write."""

    reads: Banks
    writes: Banks
    address_space: int = 3
    """Number of its address space in LLVM's code for the vendor's GPUs."""


def consecutive_phases(lanes: int, pass_bytes: int) -> tuple[tuple[int, LaneGroups], ...]:
    """Return phases of lanes that follow each other, as many as one pass through all banks has room for.

    `pass_bytes` is what all banks give at once.
    """
    phases = []
    access_bytes = pass_bytes // lanes
    while access_bytes <= WIDEST_ACCESS_BYTES:
        size = pass_bytes // access_bytes
        groups = tuple(tuple(range(start, start + size)) for start in range(0, lanes, size))
        phases.append((access_bytes, groups))
        access_bytes *= 2
    return tuple(phases)
