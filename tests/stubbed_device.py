"""The device executor's own driver calls, answered by the emulator's stub of the driver."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.artifact.artifact import Artifact
from harness.emulator import ARTIFACT_FOLDER
from harness.emulator.drivers.registry import LoadedImage, load_image, prepare_launches, registered
from harness.emulator.drivers.stub import VERSIONED_CUDA, stub
from harness.emulator.launching import LaunchSettings
from harness.emulator.saved_code import load_saved


@contextmanager
def stub_device(chip: str, artifact: Artifact | None = None, folder: Path | None = None) -> Iterator[None]:
    """Be a machine with one device, whose driver knows the kernels of an artifact in all their forms."""
    stub("cuda", VERSIONED_CUDA).select(chip)
    from harness.targets.cuda.device.context import open_device
    from harness.targets.cuda.images import CUBIN_FILE

    open_device.cache_clear()
    images: list[LoadedImage] = []
    if artifact is not None and folder is not None:
        images = [load_image(image) for image in load_saved(folder / ARTIFACT_FOLDER)]
        cubin = folder / CUBIN_FILE
        if cubin.exists():
            images += [LoadedImage(cubin.read_bytes(), image.kernels) for image in images]
    prepare_launches(LaunchSettings(processes=1))
    with registered(images):
        yield
    open_device.cache_clear()
