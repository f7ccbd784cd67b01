"""Artifacts of the target `xegpu`, loaded for this machine's processor."""

import ctypes
from collections.abc import Sequence
from pathlib import Path

from harness.artifact.artifact import Artifact
from harness.system.errors import UnsupportedError
from harness.system.toolchains.spirv_words import capabilities, imports
from harness.targets.gpu.executable import GpuKernels
from harness.targets.gpu.launch import GpuLaunch
from harness.targets.xegpu.device import SPIRV_FILE
from harness.targets.xegpu.device.context import Device, one
from harness.targets.xegpu.device.driver import OpenClDriver, with_log
from harness.targets.xegpu.processor.modelled import sources
from harness.targets.xegpu.processor.runtime import open_processor

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
    program = linked(device, [compiled_module(device, image), compiled_source(device, models)])
    plan = GpuLaunch.model_validate(artifact.launch)
    return GpuKernels(artifact.case.problem, plan, OpenClDriver(device, program))


def compiled_module(device: Device, image: bytes) -> int:
    """Return a program of a module, in which functions may be missing; raises `DeviceError`."""
    made = device.calls.made("clCreateProgramWithIL", device.context, image, len(image))
    return _compiled(device, made, b"")


def compiled_source(device: Device, text: str) -> int:
    """Return a program of text in OpenCL C; raises `DeviceError`."""
    texts = (ctypes.c_char_p * 1)(text.encode())
    made = device.calls.made("clCreateProgramWithSource", device.context, 1, texts, None)
    return _compiled(device, made, SOURCE_OPTIONS)


def linked(device: Device, programs: Sequence[int]) -> int:
    """Return one program of several, which are given up; raises `DeviceError` where a function is missing."""
    parts = (ctypes.c_void_p * len(programs))(*programs)
    arguments = 1, one(device.handle), b"", len(parts), parts, None, None
    try:
        return device.calls.made("clLinkProgram", device.context, *arguments)
    finally:
        for program in programs:
            device.calls.call("clReleaseProgram", program)


def _compiled(device: Device, program: int, options: bytes) -> int:
    arguments = program, 1, one(device.handle), options, *NO_HEADERS
    with_log(device, program, "clCompileProgram", *arguments)
    return program
