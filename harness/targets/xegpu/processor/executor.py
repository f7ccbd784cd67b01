"""Artifacts of the target `xegpu`, loaded for this machine's processor."""

import ctypes
from pathlib import Path

from harness.artifact.artifact import Artifact
from harness.errors import UnsupportedError
from harness.targets.gpu.executable import GpuKernels
from harness.targets.gpu.launch import GpuLaunch
from harness.targets.xegpu.device import SPIRV_FILE
from harness.targets.xegpu.device.context import Device, one
from harness.targets.xegpu.device.driver import OpenClDriver
from harness.targets.xegpu.device.program import with_log
from harness.targets.xegpu.processor.modelled import sources
from harness.targets.xegpu.processor.runtime import open_processor
from harness.toolchains.spirv_words import capabilities, imports

OPTIONS = b""
SOURCE_OPTIONS = b"-cl-std=CL3.0"
NO_HEADERS = (0, None, None, None, None)
"""And nothing to call when a program is compiled."""

BFLOAT16_TYPE = 5116
"""The capability BFloat16TypeKHR of SPV_KHR_bfloat16."""


def load(artifact: Artifact, folder: Path) -> GpuKernels:
    """Load an artifact of the target `xegpu` for the processor.

    Raises `UnsupportedError` for what the runtime, or the models, do not have.
    """
    image = (folder / SPIRV_FILE).read_bytes()
    if BFLOAT16_TYPE in capabilities(image):
        raise UnsupportedError("bf16: Intel's OpenCL runtime for processors has no SPV_KHR_bfloat16")
    models = sources(imports(image))
    device = open_processor()
    plan = GpuLaunch.model_validate(artifact.launch)
    return GpuKernels(artifact.case.problem, plan, OpenClDriver(device, linked(device, image, models)))


def linked(device: Device, image: bytes, models: str) -> int:
    """Return a program of a module and of the functions that it imports; raises `DeviceError`."""
    calls, context = device.calls, device.context
    module = calls.made("clCreateProgramWithIL", context, image, len(image))
    text = (ctypes.c_char_p * 1)(models.encode())
    modelled = calls.made("clCreateProgramWithSource", context, 1, text, None)
    for program, options in ((module, OPTIONS), (modelled, SOURCE_OPTIONS)):
        given = program, 1, one(device.handle), options, *NO_HEADERS
        with_log(device, program, "clCompileProgram", *given)
    both = (ctypes.c_void_p * 2)(module, modelled)
    return calls.made("clLinkProgram", context, 1, one(device.handle), OPTIONS, len(both), both, None, None)
