"""NVIDIA's GPUs as the pipeline for GPUs knows them; what emits IR is imported when it is asked for."""

from functools import partial

from harness.artifact.artifact import Loader
from harness.codegen.layouts.instructions import nvidia
from harness.codegen.layouts.shared_memory_model import Banks, SharedMemoryModel, consecutive_phases
from harness.emulator.devices import device as emulated_device
from harness.targets.cuda import device as device_executor
from harness.targets.cuda.chips import capability, chip_named
from harness.targets.cuda.multiprocessor import REGISTERS_OF_LANE, WARP_LANES, resident_workgroups
from harness.targets.gpu.vendor import CodeGeneration, Multiprocessors, Staging, Vendor

BANKS = Banks(count=32, word_bytes=4, phases=consecutive_phases(WARP_LANES, pass_bytes=128))
"""CUDA C++ Programming Guide, "Shared Memory": an access of 16 bytes is done for 8 lanes at a time, one of 8
bytes for 16."""
SHARED_MEMORY = SharedMemoryModel(reads=BANKS, writes=BANKS)


HOPPER = 90
"""The compute capability from which on ptxas 13.0 spills in a loop whatever the order of its code; earlier
chips can be spared."""


def _commit_copies() -> None:
    from mlir.dialects import nvvm

    nvvm.cp_async_commit_group()


def _wait_for_copies() -> None:
    from mlir.dialects import nvvm

    nvvm.cp_async_wait_group(0)


ASYNCHRONOUS_COPIES = Staging(
    slots=2,
    commit=_commit_copies,
    wait=_wait_for_copies,
    padding_bytes=16,  # 8 rows of 16 bytes, as `ldmatrix` and copies take them, lie in different banks
    column_padding_bytes=32,  # no `ldmatrix` for 4-byte elements: 4 rows of 8 lie in different banks
)

DEVICE_LOADER = Loader(
    executor="device",
    function="harness.targets.cuda.device.driver:load",
    packages=device_executor.PACKAGES,
    install=device_executor.INSTALL,
)


def _code_generation() -> CodeGeneration:
    from harness.codegen.layouts.distribution.nvidia.rules import RULES
    from harness.targets.cuda.lowering import EMISSION, LOWERING

    return CodeGeneration(RULES, LOWERING, EMISSION)


def nvidia_vendor(chip: str) -> Vendor:
    """Return the description of one of NVIDIA's chips."""
    return Vendor(
        chip=chip,
        matrix_instructions={
            "f16": nvidia.M16N8K16_F16,
            "bf16": nvidia.M16N8K16_BF16,
            "f32": nvidia.M16N8K8_TF32_X3,
        },
        most_warps=4,
        key_tile=64,
        multiprocessors=Multiprocessors(
            count=chip_named(chip).multiprocessors,
            registers_of_lane=REGISTERS_OF_LANE,
            resident=partial(resident_workgroups, chip=chip),
        ),
        workgroup_shared_bytes=chip_named(chip).largest_workgroup_bytes,
        long_row_bytes=512,  # head_dim 128 in 16 bits, or 64 in 32
        most_operand_registers=64,  # 64 keys of head_dim 64 in 16 bits; with 128 the model prefers steps
        spare_registers=8,  # 260 are estimated at head_dim 256 in 16 bits, and ptxas 13.0 spills none of 254
        spares_masked_loops=capability(chip)[0] < HOPPER,
        sums_in_halves=True,
        staging=ASYNCHRONOUS_COPIES,
        shared_memory=SHARED_MEMORY,
        code_generation=_code_generation,
        device_loader=DEVICE_LOADER,
        emulated_device=emulated_device(chip),
    )
