"""What NVIDIA's machine instructions ask of a multiprocessor: from opcodes to the model's instructions."""

import re
from collections.abc import Callable
from dataclasses import replace

from harness.codegen.bounds.instruction import ALU, FMA, SPECIAL, TENSOR, UNIFORM, Instruction, Order
from harness.codegen.bounds.loop_model import Unmodelled
from harness.targets.cuda.modelled_chips import ModelledChip
from harness.targets.cuda.sass import SassInstruction

ROW_BYTES = 128
"""What 32 lanes of 4 bytes access."""
MATRIX_OF_8_BYTES = 128
"""8 × 8 elements of 16 bits, the unit of `ldmatrix`."""
OPERAND_BYTES = 2
WARPS_OF_GROUP = 4
"""Warps that execute a `wgmma` together."""

SHAPES = {"16816": 16 * 8 * 16, "1688": 16 * 8 * 8, "1684": 16 * 8 * 4}
"""Multiply-adds of `HMMA`, by the shape in its name."""
GROUP_SHAPE = re.compile(r"(\d+)x(\d+)x(\d+)")
FIRST_OPERAND_IN_REGISTERS = re.compile(r"R\d+\S*, R\d+")
LEFT_OUTSTANDING = re.compile(r"0x([0-9a-f]+)")

FLOAT = {"FFMA", "FMUL", "FADD", "HFMA2", "HADD2", "HMUL2"}
INTEGER_MULTIPLY = {"IMAD"}
SPECIAL_FUNCTIONS = {"MUFU", "F2F", "F2I", "I2F", "FRND"}
SHARED_ACCESSES = {"LDSM", "STSM", "LDS", "STS", "ATOMS"}
GLOBAL_ACCESSES = {"LDG", "STG", "LD", "ST", "RED", "ATOMG", "ATOM"}
LOCAL_ACCESSES = {"LDL", "STL"}
COPIES = {"LDGSTS"}
NOTHING_BUT_ISSUED = re.compile(
    r"NOP|BRA|BRX|CALL|RET|EXIT|BSSY|BSYNC|BREAK|BMOV|YIELD|WARPSYNC|WARPGROUP|MEMBAR|FENCE|ERRBAR|CCTL|NANOSLEEP"
    r"|BAR|DEPBAR|LDGDEPBAR|U?LDC|S2R|S2UR|CS2R|R2UR|VOTEU?|PLOP3|ELECT"
)
NOT_MODELLED = re.compile(r"UTC\w*|UTMA\w*|UBLK\w*|SYNCS|[IDQO]MMA|[IQ]GMMA|UCGABAR\w*|SETMAXREG|USETMAXREG")
"""Transactions that mbarriers count, tensor memory, and products of other types."""


def costs(instruction: SassInstruction, chip: ModelledChip) -> Instruction:
    """Return what an instruction of a warp asks of a multiprocessor; raises `Unmodelled` if nobody knows."""
    if NOT_MODELLED.fullmatch(instruction.name):
        raise Unmodelled(f"the model does not know {instruction.opcode}")
    control = instruction.control
    scheduled = Instruction(
        stall=max(1, control.stall),
        waits=control.waits,
        result_flag=control.write_flag,
        operand_flag=control.read_flag,
        latency=chip.other_latency,
    )
    if instruction.never_executes:
        return scheduled
    return _kind(instruction)(instruction, scheduled, chip)


Costs = Callable[[SassInstruction, Instruction, ModelledChip], Instruction]


def _kind(instruction: SassInstruction) -> Costs:
    """Return what knows the costs of an opcode; what nobody claims computes with integers."""
    name = instruction.name
    if name == "HMMA":
        return _matrix_product
    if name == "HGMMA":
        return _group_product
    if name in SHARED_ACCESSES or name in COPIES or name in GLOBAL_ACCESSES or name in LOCAL_ACCESSES:
        return _access
    if name == "SHFL":
        return _shuffle
    if NOTHING_BUT_ISSUED.fullmatch(name):
        return _order
    return _arithmetic


def _matrix_product(instruction: SassInstruction, scheduled: Instruction, chip: ModelledChip) -> Instruction:
    shape = next((SHAPES[word] for word in instruction.modifiers if word in SHAPES), None)
    if shape is None:
        raise Unmodelled(f"the model does not know {instruction.opcode}")
    peak = shape / chip.multiply_adds * (2 if "TF32" in instruction.modifiers else 1)
    return replace(
        scheduled,
        pipe=TENSOR,
        pipe_cycles=peak / chip.mma_share,
        multiply_adds=shape,
        peak_cycles=peak,
    )


def _group_product(instruction: SassInstruction, scheduled: Instruction, chip: ModelledChip) -> Instruction:
    """Return a warp's share of `wgmma`: asynchronous, its second operand, or both, from shared memory."""
    shape = GROUP_SHAPE.search(instruction.opcode)
    if shape is None or "TF32" in instruction.modifiers:
        raise Unmodelled(f"the model does not know {instruction.opcode}")
    rows, columns, depth = map(int, shape.groups())
    multiply_adds = rows * columns * depth // WARPS_OF_GROUP
    first_in_registers = FIRST_OPERAND_IN_REGISTERS.match(instruction.operands)
    read = columns * depth + (0 if first_in_registers else rows * depth)
    cycles = multiply_adds / chip.multiply_adds
    return replace(
        scheduled,
        pipe=TENSOR,
        pipe_cycles=cycles,
        peak_cycles=cycles,
        multiply_adds=multiply_adds,
        is_queued=True,
        commits_products="gsb0" in instruction.operands,
        latency=chip.matrix_latency,
        shared_bytes=read * OPERAND_BYTES / WARPS_OF_GROUP,
        operand_bytes=read * OPERAND_BYTES / WARPS_OF_GROUP,
    )


def _access(instruction: SassInstruction, scheduled: Instruction, chip: ModelledChip) -> Instruction:
    """Return an access to memory, without bank conflicts, which code is judged by elsewhere.

    What was spilled lies in the first-level cache, which is shared memory's.
    """
    name, size = instruction.name, _row_bytes(instruction)
    if name in COPIES:
        return replace(scheduled, shared_bytes=size, l2_bytes=size, is_copy=True)
    if name in GLOBAL_ACCESSES:
        return replace(scheduled, shared_bytes=size, l2_bytes=size if name in ("LDG", "LD") else 0.0)
    if name in LOCAL_ACCESSES:
        return replace(scheduled, latency=chip.shared_latency, shared_bytes=size)
    size = _matrices(instruction) if name in ("LDSM", "STSM") else size
    read = size if name in ("LDSM", "LDS") else 0.0
    return replace(scheduled, latency=chip.shared_latency, shared_bytes=size, operand_bytes=read)


def _shuffle(instruction: SassInstruction, scheduled: Instruction, chip: ModelledChip) -> Instruction:
    return replace(scheduled, latency=chip.shuffle_latency, shared_bytes=ROW_BYTES)


def _order(instruction: SassInstruction, scheduled: Instruction, chip: ModelledChip) -> Instruction:
    name, modifiers = instruction.name, instruction.modifiers
    if name == "BAR" and "ARV" not in modifiers:
        return replace(scheduled, order=Order.BARRIER)
    if name == "LDGDEPBAR":
        return replace(scheduled, order=Order.COMMIT_COPIES)
    if name == "DEPBAR":
        return replace(scheduled, order=Order.AWAIT_COPIES, outstanding=_outstanding(instruction))
    if name == "WARPGROUP" and "DEPBAR" in modifiers:
        return replace(scheduled, order=Order.AWAIT_PRODUCTS, outstanding=_outstanding(instruction))
    return scheduled


def _arithmetic(instruction: SassInstruction, scheduled: Instruction, chip: ModelledChip) -> Instruction:
    name, lanes = instruction.name, chip.multiprocessor.lanes
    if name in FLOAT:
        return replace(scheduled, pipe=FMA, pipe_cycles=lanes / chip.float_lanes)
    if name in INTEGER_MULTIPLY:
        return replace(scheduled, pipe=FMA, pipe_cycles=lanes / chip.integer_multiply_lanes)
    if name in SPECIAL_FUNCTIONS:
        cycles = lanes / chip.special_lanes
        return replace(scheduled, pipe=SPECIAL, pipe_cycles=cycles, latency=chip.special_latency)
    if name.startswith("U"):
        return replace(scheduled, pipe=UNIFORM, pipe_cycles=chip.uniform_cycles)
    return replace(scheduled, pipe=ALU, pipe_cycles=lanes / chip.compare_lanes)


def _matrices(instruction: SassInstruction) -> float:
    """Return the bytes of 1, 2 or 4 matrices of 8 × 8, `LDSM.16.M88.4`."""
    last = instruction.modifiers[-1] if instruction.modifiers else ""
    return MATRIX_OF_8_BYTES * (int(last) if last in ("2", "4") else 1)


def _row_bytes(instruction: SassInstruction) -> float:
    """Return the bytes of all lanes: what is narrower than 4 bytes takes as long."""
    if "128" in instruction.modifiers:
        return 4 * ROW_BYTES
    return (2 if "64" in instruction.modifiers else 1) * ROW_BYTES


def _outstanding(instruction: SassInstruction) -> int:
    """Return how many groups may be under way behind `DEPBAR.LE SB0, 0x1`."""
    match = LEFT_OUTSTANDING.search(instruction.operands)
    return int(match[1], 16) if match is not None else 0
