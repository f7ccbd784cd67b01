"""Intel's GPUs as the pipeline for GPUs knows them; what emits IR is imported when it is asked for."""

from functools import partial

from harness.artifact.artifact import Loader
from harness.codegen.layouts.instructions import intel
from harness.emulator.devices import device as emulated_device
from harness.targets.gpu.vendor import CodeGeneration, Multiprocessors, Vendor
from harness.targets.xegpu import processor
from harness.targets.xegpu.chips import CHIPS, resident_workgroups

MATRIX_INSTRUCTIONS = {instruction.operand: instruction for instruction in intel.INSTRUCTIONS}
"""No chip has one for f32; that for tf32 keeps 10 bits of a mantissa."""

MOST_SUB_GROUPS = 8
"""Sub-groups of a workgroup."""
KEY_TILE = 64
"""Keys of a tile, where rows are not long."""
LONG_ROW_BYTES = 256
"""Of K and V together: head_dim 64 in 16 bits.  With longer rows 64 keys leave too few registers."""

MOST_OPERAND_REGISTERS = 32
"""Of a lane, for K: a tile of it as a whole would take as many as the output."""

DEVICE_LOADER = Loader(executor="device", function="harness.targets.xegpu.device.driver:load")
PROCESSOR_LOADER = Loader(
    executor="opencl",
    function="harness.targets.xegpu.processor.executor:load",
    distributions=processor.DISTRIBUTIONS,
    install=processor.INSTALL,
)


def _code_generation() -> CodeGeneration:
    from harness.codegen.layouts.distribution.intel.rules import RULES
    from harness.targets.xegpu.lowering import EMISSION, LOWERING

    return CodeGeneration(rules=RULES, lowering=LOWERING, emission=EMISSION)


def intel_vendor(name: str) -> Vendor:
    """Return the description of one of Intel's chips."""
    chip = CHIPS[name]
    return Vendor(
        chip=name,
        matrix_instructions=MATRIX_INSTRUCTIONS,
        most_warps=MOST_SUB_GROUPS,
        key_tile=KEY_TILE,
        multiprocessors=Multiprocessors(
            count=chip.cores,
            registers_of_lane=chip.registers_of_lane,
            resident=partial(resident_workgroups, chip=chip),
        ),
        long_row_bytes=LONG_ROW_BYTES,
        most_operand_registers=MOST_OPERAND_REGISTERS,
        prefetches_tiles=True,
        staging=None,
        shared_memory=None,
        code_generation=_code_generation,
        workgroup_shared_bytes=0,  # none here has a use for it
        device_loader=DEVICE_LOADER,
        further_loaders=(PROCESSOR_LOADER,),
        emulated_device=emulated_device(name),
    )
