"""How IREE is told what to compile for: flags where it has them, else an attribute of the module."""

from dataclasses import dataclass

from harness.plugins import chip_of, name_of
from harness.targets.gpu.target import GpuTarget

LLVM_CPUS = {None: "host", "host": "host", "avx2": "x86-64-v3"}
"""What `--iree-llvmcpu-target-cpu` gets for each chip of the target `cpu`."""

CUDA_TARGET = """\
#iree_gpu.target<arch = "{chip}", features = "{features}", wgp = <
    compute = fp64|fp32|fp16|int64|int32|int16|int8, storage = b64|b32|b16|b8,
    subgroup = shuffle|arithmetic, dot = dp4xi8toi32,
    mma = [<NV_MMA_SYNC_F32_16x8x16_F16>, <NV_MMA_SYNC_F16_16x8x16_F16>, <NV_MMA_SYNC_F32_16x8x16_BF16>,
           <NV_WMMA_F32_16x16x16_F16>, <NV_WMMA_F16_16x16x16_F16>],
    subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 64],
    max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = {shared_bytes},
    max_workgroup_counts = [2147483647, 65535, 65535]>>"""
"""What IREE knows of sm_80, written out for chips of which it knows nothing."""

HOPPER_SHARED_BYTES = 227 * 1024
"""What one workgroup may have on sm_90 and sm_100 (CUDA C++ Programming Guide, compute capabilities)."""

PTX_FEATURES = {"sm_90": "+ptx80", "sm_90a": "+ptx80", "sm_100": "+ptx86"}
"""Chips that `--iree-cuda-target` refuses, and the oldest PTX that has them."""


@dataclass(frozen=True)
class IreeTarget:
    """What IREE has to be told for one chip, and what it then leaves behind."""

    chip: str
    flags: tuple[str, ...]
    assembly_suffix: str
    """Of the assembly that it dumps."""
    image_suffix: str
    """Of what the runtime's driver loads."""
    driver: str | None = None
    """IREE's driver for devices; None is the processor."""
    device_targets: str | None = None
    """The module's attribute `hal.device.targets`, where flags are not enough."""

    def module(self, functions: str) -> str:
        """Return a module of these functions that names the device it is for."""
        if self.device_targets is None:
            return functions
        return f"module attributes {{hal.device.targets = [{self.device_targets}]}} {{\n{functions}}}\n"


def iree_target(target: str) -> IreeTarget | None:
    """Return what IREE is told for a target's name, or None where it is not built for it."""
    name = name_of(target)
    chip = chip_of(target)
    if name == "cpu":
        return _processor(LLVM_CPUS[chip]) if chip in LLVM_CPUS else None
    if name not in GPU_TARGETS:
        return None
    from harness import plugins

    gpu = plugins.target(name)
    if not isinstance(gpu, GpuTarget) or gpu.chip(chip) not in gpu.chips():
        return None
    return GPU_TARGETS[name](gpu.chip(chip))


def _processor(llvm_cpu: str) -> IreeTarget:
    flags = (
        "--iree-hal-target-backends=llvm-cpu",
        f"--iree-llvmcpu-target-cpu={llvm_cpu}",
        "--iree-opt-level=O3",
        "--iree-llvmcpu-fail-on-large-vector=false",  # the best tiles of attention are such
    )
    return IreeTarget(llvm_cpu, flags, ".s", ".so")


def _cuda(chip: str) -> IreeTarget:
    features = PTX_FEATURES.get(chip)
    if features is None:
        flags = ("--iree-hal-target-device=cuda", f"--iree-cuda-target={chip}")
        return IreeTarget(chip, flags, ".ptx", ".ptx", driver="cuda")
    device = CUDA_TARGET.format(chip=chip, features=features, shared_bytes=HOPPER_SHARED_BYTES)
    executable = f'#hal.executable.target<"cuda", "cuda-nvptx-fb", {{iree_codegen.target_info = {device}}}>'
    return IreeTarget(
        chip,
        (),
        ".ptx",
        ".ptx",
        driver="cuda",
        device_targets=f'#hal.device.target<"cuda", [{executable}]> : !hal.device',
    )


def _rocm(chip: str) -> IreeTarget:
    flags = ("--iree-hal-target-device=hip", f"--iree-rocm-target={chip}")
    return IreeTarget(chip, flags, ".rocmasm", ".hsaco", driver="hip")


GPU_TARGETS = {"cuda": _cuda, "rocm": _rocm}
