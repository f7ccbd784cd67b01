"""The device executors' own driver calls, answered by the emulator's stubs of the drivers."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from harness.artifact.artifact import Artifact
from harness.emulator import ARTIFACT_FOLDER
from harness.emulator.device_code import load_saved
from harness.emulator.drivers.registry import LoadedImage, load_image, prepare_launches, registered
from harness.emulator.drivers.stub import VERSIONED_CUDA, StubDriver, stub
from harness.emulator.launching import LaunchSettings


@contextmanager
def stub_device(chip: str, artifact: Artifact | None = None, folder: Path | None = None) -> Iterator[None]:
    """Be a machine with one device of NVIDIA's, whose driver knows an artifact's kernels in any form."""
    stub("cuda", VERSIONED_CUDA).select(chip)
    from harness.targets.cuda.device.context import find_device

    find_device.cache_clear()
    with known(cuda_images(artifact, folder)):
        yield
    find_device.cache_clear()


def cuda_images(artifact: Artifact | None, folder: Path | None) -> list[LoadedImage]:
    """Return an artifact's kernels in any form that NVIDIA's driver is given."""
    from harness.targets.cuda.device import CUBIN_FILE

    images = _saved_images(artifact, folder)
    if folder is not None and (folder / CUBIN_FILE).exists():
        images += [LoadedImage((folder / CUBIN_FILE).read_bytes(), image.kernels) for image in images]
    return images


@contextmanager
def stub_amd_device(
    chip: str, artifact: Artifact | None = None, folder: Path | None = None
) -> Iterator[None]:
    """Be a machine with one device of AMD's, whose driver knows an artifact's kernels."""
    stub("hip").select(chip)
    from harness.targets.rocm.device.driver import find_device

    find_device.cache_clear()
    with known(_saved_images(artifact, folder)):
        yield
    find_device.cache_clear()


@contextmanager
def stub_intel_device(
    chip: str, artifact: Artifact | None = None, folder: Path | None = None
) -> Iterator[StubDriver]:
    """Be a machine with one of Intel's GPUs, whose driver knows an artifact's kernels; gives that driver."""
    driver = stub("opencl")
    driver.select(chip)
    from harness.targets.xegpu.device.context import open_gpu

    open_gpu.cache_clear()
    with known(_saved_images(artifact, folder)):
        yield driver
    open_gpu.cache_clear()


def on_device(artifact: Artifact) -> Artifact:
    """Return an artifact that the device executor loads."""
    device = next(loader for loader in artifact.loaders if loader.executor == "device")
    return artifact.model_copy(update={"executor": "device", "loader": device.function})


def _saved_images(artifact: Artifact | None, folder: Path | None) -> list[LoadedImage]:
    if artifact is None or folder is None or not (folder / ARTIFACT_FOLDER).is_dir():
        return []
    return [load_image(image) for image in load_saved(folder / ARTIFACT_FOLDER)]


@contextmanager
def known(images: Sequence[LoadedImage]) -> Iterator[None]:
    """Let the stub drivers find these kernels."""
    prepare_launches(LaunchSettings(processes=1))
    with registered(images):
        yield
