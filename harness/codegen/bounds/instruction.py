"""One instruction of a warp, as far as it matters what it keeps busy and what it waits for."""

from dataclasses import dataclass
from enum import Enum

TENSOR = "tensor"
SPECIAL = "special"
FMA = "fma"
ALU = "alu"
UNIFORM = "uniform"
"""Pipes of a sub-core: matrix products; exponentials and reciprocals; multiplications and additions;
comparisons, logic and conversions; what a warp computes once for all lanes.  A vendor may have others."""

ISSUE = "issue"
SHARED = "shared"
L2 = "l2"
"""What every instruction needs of its sub-core, and what the whole multiprocessor has once."""

CONTROL = "control"
"""Shown as the pipe of instructions that keep nothing busy but their turn to be issued."""


class Order(Enum):
    """What an instruction says about the order of others, beyond flags and stalls."""

    NONE = "none"
    COMMIT_COPIES = "commit copies"
    """The asynchronous copies since the last commit form a group."""
    AWAIT_COPIES = "await copies"
    """Waits until all but the last `outstanding` groups of copies have arrived."""
    AWAIT_PRODUCTS = "await products"
    """The same of groups of asynchronous matrix products."""
    BARRIER = "barrier"
    """Waits for all warps of the workgroup."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """What one instruction of a warp asks of a multiprocessor.

    Cycles are of the multiprocessor's clock.  Flags are what NVIDIA calls scoreboards or barriers: an
    instruction raises one, and later ones of the same warp wait until it is down.
    """

    pipe: str | None = None
    pipe_cycles: float = 0.0
    """How long the pipe of its sub-core takes no other instruction."""
    stall: int = 1
    """Cycles until the warp may issue its next instruction."""
    waits: tuple[int, ...] = ()
    """Flags that have to be down before it is issued."""
    result_flag: int | None = None
    """Flag that is up until its result is there."""
    operand_flag: int | None = None
    """Flag that is up until it has read its operands."""
    latency: float = 0.0
    """Cycles from its issue, or from the end of its turn at a memory, to its result."""
    shared_bytes: float = 0.0
    """Bytes that pass through shared memory's data path, where it reads, writes or shuffles."""
    operand_bytes: float = 0.0
    """Those of them that it reads for matrix products."""
    l2_bytes: float = 0.0
    is_copy: bool = False
    """Whether it starts an asynchronous copy, which groups collect."""
    is_queued: bool = False
    """Whether the pipe has a queue, so that it is issued while the pipe is busy: asynchronous products."""
    commits_products: bool = False
    """Whether the asynchronous products up to this one form a group."""
    multiply_adds: int = 0
    """Of matrix products, of one warp."""
    peak_cycles: float = 0.0
    """Cycles that these would take of the sub-core at its dense peak."""
    order: Order = Order.NONE
    outstanding: int = 0
    """Of an instruction that waits for groups: how many need not have arrived."""
