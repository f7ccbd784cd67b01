"""What IREE is told for each chip."""

import pytest

from harness.system.machine.gpus import GpuDevice
from harness.targets.gpu import target as gpu_target
from harness.variants.baselines.iree.targets import iree_target


@pytest.mark.parametrize(
    ("target", "flags", "suffixes", "driver"),
    [
        ("cpu", "llvm-cpu --iree-llvmcpu-target-cpu=host", (".s", ".so"), None),
        ("cpu:avx2", "llvm-cpu --iree-llvmcpu-target-cpu=x86-64-v3", (".s", ".so"), None),
        ("cuda:sm_80", "cuda --iree-cuda-target=sm_80", (".ptx", ".ptx"), "cuda"),
        ("rocm:gfx1100", "hip --iree-rocm-target=gfx1100", (".rocmasm", ".hsaco"), "hip"),
    ],
)
def test_most_chips_have_flags(target, flags, suffixes, driver):
    chip = iree_target(target)
    assert " ".join(chip.flags).partition("=")[2].startswith(flags)
    assert chip.module("func.func @f()\n") == "func.func @f()\n"
    assert (chip.assembly_suffix, chip.image_suffix) == suffixes
    assert chip.driver == driver


@pytest.mark.parametrize(("chip", "features"), [("sm_90a", "+ptx80"), ("sm_100", "+ptx86")])
def test_chips_that_iree_does_not_know_are_described_in_the_module(chip, features):
    target = iree_target(f"cuda:{chip}")
    module = target.module("func.func @f()\n")
    assert target.flags == ()
    assert f'arch = "{chip}", features = "{features}"' in module
    assert "max_workgroup_memory_bytes = 232448" in module
    assert module.startswith('module attributes {hal.device.targets = [#hal.device.target<"cuda"')
    assert module.endswith("{\nfunc.func @f()\n}\n")


@pytest.mark.parametrize("target", ["cpu:avx512", "cuda:sm_61", "rocm:gfx906", "xegpu:bmg"])
def test_other_chips_are_not_built(target):
    assert iree_target(target) is None


def test_a_chip_that_is_left_open_is_that_of_the_device(monkeypatch):
    monkeypatch.setattr(gpu_target, "devices", lambda name: None)
    assert iree_target("rocm").chip == "gfx942"
    monkeypatch.setattr(gpu_target, "devices", lambda name: (GpuDevice("AMD", "gfx1100"),))
    assert iree_target("rocm").chip == "gfx1100"
