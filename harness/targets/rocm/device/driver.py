"""HIP, as the executable of GPU kernels asks for it."""

from pathlib import Path

from harness.artifact.artifact import Artifact
from harness.targets.gpu.executable import GpuKernels
from harness.targets.gpu.launch import GpuLaunch
from harness.targets.gpu.streams import StreamDriver
from harness.targets.rocm.code_object import CODE_OBJECT_FILE
from harness.targets.rocm.device.context import open_device


def load(artifact: Artifact, folder: Path) -> GpuKernels:
    """Load an artifact of the target `rocm` onto the first device of its chip."""
    plan = GpuLaunch.model_validate(artifact.launch)
    image = (folder / CODE_OBJECT_FILE).read_bytes()
    driver = StreamDriver(open_device(plan.chip), image, plan.kernels)
    return GpuKernels(artifact.case.problem, plan, driver)
