"""The fragments of mma.sync in the instruction set: row and column of a lane's i-th element.

The formulas are those of PTX ISA 9.2, sections 9.7.14.5.6 (m16n8k4), 9.7.14.5.7 (m16n8k8) and 9.7.14.5.8
(m16n8k16 with floating point type), with its groupID = lane >> 2 and threadID_in_group = lane % 4.  B is k×n.
"""


def a_k16(lane: int, i: int) -> tuple[int, int]:
    """Row groupID for a_i with 0 <= i < 2 or 4 <= i < 6, else groupID + 8; columns i >= 4 are 8 further."""
    group, thread = lane >> 2, lane % 4
    row = group if 0 <= i < 2 or 4 <= i < 6 else group + 8
    column = thread * 2 + (i & 1) if i < 4 else thread * 2 + (i & 1) + 8
    return row, column


def b_k16(lane: int, i: int) -> tuple[int, int]:
    """Row threadID_in_group * 2 + (i & 1), 8 further for i >= 2; column groupID."""
    group, thread = lane >> 2, lane % 4
    return (thread * 2 + (i & 1) if i < 2 else thread * 2 + (i & 1) + 8), group


def a_k8(lane: int, i: int) -> tuple[int, int]:
    """Row groupID for a0 and a1, groupID + 8 for a2 and a3; column threadID_in_group * 2 + (i & 1)."""
    group, thread = lane >> 2, lane % 4
    return (group if i in (0, 1) else group + 8), thread * 2 + (i & 1)


def b_k8(lane: int, i: int) -> tuple[int, int]:
    """Row threadID_in_group * 2 + i; column groupID."""
    return (lane % 4) * 2 + i, lane >> 2


def a_k8_tf32(lane: int, i: int) -> tuple[int, int]:
    """Row groupID for a0 and a2, else + 8; column threadID_in_group for a0 and a1, else + 4."""
    group, thread = lane >> 2, lane % 4
    return (group if i in (0, 2) else group + 8), (thread if i in (0, 1) else thread + 4)


def b_k8_tf32(lane: int, i: int) -> tuple[int, int]:
    """Row threadID_in_group for b0, threadID_in_group + 4 for b1; column groupID."""
    return (lane % 4 if i == 0 else lane % 4 + 4), lane >> 2


def a_k4_tf32(lane: int, i: int) -> tuple[int, int]:
    """Row groupID for a0, groupID + 8 for a1; column threadID_in_group."""
    return (lane >> 2 if i == 0 else (lane >> 2) + 8), lane % 4


def b_k4_tf32(lane: int, i: int) -> tuple[int, int]:
    """Row threadID_in_group; column groupID."""
    return lane % 4, lane >> 2


def accumulator(lane: int, i: int) -> tuple[int, int]:
    """Row groupID for c0 and c1, groupID + 8 for c2 and c3; column threadID_in_group * 2 + (i & 1)."""
    group, thread = lane >> 2, lane % 4
    return (group if i in (0, 1) else group + 8), thread * 2 + (i & 1)
