"""What a launch has found, in words."""

from enum import IntEnum

from harness.system.validation import FrozenModel


class FindingKind(IntEnum):
    """`FindingKind` of `runtime/emulator.h`."""

    OUT_OF_BOUNDS = 1
    READ_ONLY = 2
    SHARED_OUT_OF_BOUNDS = 3
    UNINITIALIZED = 4
    RACE = 5
    IN_FLIGHT = 6
    DIVERGENT_BARRIER = 7
    DIVERGENT_COLLECTIVE = 8
    MEMBER_MASK = 9
    INACTIVE_SOURCE = 10
    REPLICATION = 11
    UNALIGNED = 12
    UNSUPPORTED_OPERAND = 13
    DEADLOCK = 14
    PENDING_COPY = 15
    ORDER = 16
    """Another order of lanes and warps gave other results."""

    @property
    def text(self) -> str:
        """The kind as it is printed."""
        return self.name.lower().replace("_", "-")


class Finding(FrozenModel):
    """One kind of mistake at one place of the device code."""

    kind: FindingKind
    kernel: str
    message: str
    operation: str = ""
    """The operation or intrinsic, empty where no place is to blame."""
    line: int = 0
    """Line of the device code as the LLVM dialect has it; 0 where no place is to blame."""
    thread: int = -1
    lane: int = -1
    warp: int = -1
    workgroup: tuple[int, int, int] = (0, 0, 0)
    """Of the first occurrence, as thread, lane and warp are."""
    count: int = 1
    """Occurrences in all."""

    def __str__(self) -> str:
        """Return one line."""
        where = f"{self.kernel}:{self.line} {self.operation}" if self.operation else self.kernel
        who = f"workgroup {self.workgroup}, warp {self.warp}, lane {self.lane}: " if self.thread >= 0 else ""
        times = f" ({self.count} times)" if self.count > 1 else ""
        return f"{self.kind.text} at {where}: {who}{self.message}{times}"


class Report(FrozenModel):
    """What one launch did."""

    kernel: str
    workgroups: int
    collectives: int
    """Warp-wide operations executed."""
    accesses: int
    """Loads and stores checked."""
    clamped_loads: int
    """Loads outside of a buffer that hardware answers with 0."""
    clamped_stores: int
    """Stores outside of a buffer that hardware drops."""
    findings: tuple[Finding, ...]
