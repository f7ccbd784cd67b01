"""What stub drivers are told and asked: `harness/emulator/runtime/registry.h`."""

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from harness.emulator.device_code import ImageCode
from harness.emulator.findings import Report
from harness.emulator.launching import LaunchSettings, launch_options, report_of
from harness.emulator.loading import LoadedKernel
from harness.emulator.native_library import library
from harness.emulator.structures import CKernel, CLaunchRecord
from harness.system.errors import HarnessError


@dataclass(frozen=True)
class LoadedImage:
    """An image and its kernels in this process, for as long as something may launch them."""

    image: bytes
    kernels: Mapping[str, LoadedKernel]


def load_image(image: ImageCode) -> LoadedImage:
    """Load the emulator's code of an image."""
    return LoadedImage(image.image, image.code.load())


@contextmanager
def registered(images: Sequence[LoadedImage]) -> Iterator[None]:
    """Let the drivers find the kernels of these images, and of no others, when modules are loaded.

    `ONE_AT_A_TIME` is to be held meanwhile where other threads load modules, too.
    """
    runtime = library()
    keeps = []
    try:
        for image in images:
            structures = [ctypes.pointer(kernel.structure) for kernel in image.kernels.values()]
            kernels = (ctypes.POINTER(CKernel) * len(structures))(*structures)
            keeps.append(kernels)
            sizes = ctypes.c_size_t(len(image.image)), ctypes.c_size_t(len(kernels))
            if runtime.emulator_register_image(image.image, sizes[0], kernels, sizes[1]) != 0:
                raise HarnessError(f"too many images: {len(images)}")
        yield
    finally:
        runtime.emulator_forget_images()


def prepare_launches(settings: LaunchSettings) -> None:
    """Say how the drivers launch kernels from now on, and forget the launches so far."""
    library().emulator_prepare_launches(ctypes.byref(launch_options(settings)))


def launch_reports(images: Sequence[LoadedImage]) -> list[Report]:
    """Return what the launches did since they were prepared, without those that were impossible."""
    runtime = library()
    runtime.emulator_launch_count.restype = ctypes.c_size_t
    runtime.emulator_launch_record.restype = ctypes.POINTER(CLaunchRecord)
    kernels = {
        ctypes.addressof(kernel.structure): kernel for image in images for kernel in image.kernels.values()
    }
    records = [
        runtime.emulator_launch_record(ctypes.c_size_t(number)).contents
        for number in range(runtime.emulator_launch_count())
    ]
    return [report_of(kernels[record.kernel], record.outcome) for record in records if not record.refused]
