"""What PyTorch needs for the devices of each target; nothing in here imports PyTorch."""

from dataclasses import dataclass

from harness.targets.cuda import device as cuda_device


@dataclass(frozen=True)
class TorchVendor:
    """A vendor whose devices PyTorch computes on."""

    build: str
    """What a build of PyTorch has to be made with."""
    queue: str
    """The function in `queues` that opens a chip's device."""
    packages: tuple[str, ...] = ()
    """Needed besides PyTorch."""
    install: str = "attention-harness[baselines]"


VENDORS = {
    "cuda": TorchVendor("CUDA", "cuda_queue", cuda_device.PACKAGES, "attention-harness[baselines,device]"),
    "rocm": TorchVendor("ROCm", "rocm_queue"),
    "xegpu": TorchVendor("XPU", "xpu_queue"),
}
"""By the name of the target."""
