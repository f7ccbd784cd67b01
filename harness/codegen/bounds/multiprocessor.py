"""What the model knows of a multiprocessor beyond what instructions say."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Multiprocessor:
    """Sub-cores that each issue one instruction a cycle, and what they share."""

    lanes: int
    """Of a warp."""
    count: int
    """How many a chip has."""
    sub_cores: int
    shared_bytes_per_cycle: float
    """Of shared memory's data path."""
    l2_bytes_per_cycle: float
    """What the second-level cache delivers to one multiprocessor when all of them read."""
    l2_latency: float
    barrier_latency: float
    """Cycles from the last warp's arrival to the others' next instruction."""
    operand_read_cycles: float
    """Cycles from the issue of an instruction to the end of reading its registers."""
