"""Artifacts of the target `xegpu`, loaded for this machine's processor, with models of what they import."""

import ctypes
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from harness.artifact.artifact import Artifact
from harness.system.errors import UnsupportedError
from harness.system.toolchains.spirv_words import capabilities, imports
from harness.targets.gpu.executable import GpuKernels
from harness.targets.gpu.launch import GpuLaunch
from harness.targets.xegpu.device import SPIRV_FILE
from harness.targets.xegpu.device.context import Device, one
from harness.targets.xegpu.device.driver import OpenClDriver, with_log
from harness.targets.xegpu.processor.runtime import open_processor

MODELS = Path(__file__).with_name("models")

MESSAGE = re.compile(
    r"_Z\d+intel_sub_group_2d_block_(?P<kind>read|write|read_transpose|read_transform|prefetch)"
    r"_(?P<bits>\d+)b_(?P<rows>\d+)r(?P<columns>\d+)x(?P<blocks>\d+)cPU3AS1viiiDv2_i\w*"
)
PRODUCT = re.compile(
    r"_Z\d+intel_sub_group_(?P<format>f16|bf16)_(?P=format)_matrix_mad_k16"
    r"Dv(?P<rows>[248])_sDv8_iDv(?P=rows)_f"
)

TYPES = {16: "ushort", 32: "uint"}
"""OpenCL's types of elements, by their bits."""
LANES = 16


def sources(names: Iterable[str]) -> str:
    """Return a program in OpenCL C that has the functions of these names.

    Raises `UnsupportedError` for a function that has no model, by its name.
    """
    texts = [file.read_text() for file in sorted(MODELS.glob("*.cl"))]
    return "\n".join([*texts, *_instances(names)])


def _instances(names: Iterable[str]) -> Iterator[str]:
    for name in sorted(set(names)):
        instance = _message(name) or _product(name)
        if instance is None:
            raise UnsupportedError(f"the executor opencl has no model of {name}")
        yield instance


def _message(name: str) -> str | None:
    match = MESSAGE.fullmatch(name)
    if match is None:
        return None
    kind = match["kind"]
    bits, rows, columns, blocks = (int(match[part]) for part in ("bits", "rows", "columns", "blocks"))
    is_modelled = (
        bits in TYPES
        and {
            "read": rows * columns % LANES == 0,
            "write": rows * columns % LANES == 0 and blocks == 1,
            "read_transpose": (bits, rows, blocks) == (32, LANES, 1),
            "read_transform": (bits, columns) == (16, LANES),
            "prefetch": True,
        }[kind]
    )
    return f"{kind.upper()}({TYPES[bits]}, {bits}, {rows}, {columns}, {blocks})" if is_modelled else None


def _product(name: str) -> str | None:
    match = PRODUCT.fullmatch(name)
    return None if match is None else f"PRODUCT({match['format']}, {match['rows']})"


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
