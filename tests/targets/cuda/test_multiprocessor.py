"""Occupancy and shared memory: numbers of NVIDIA's occupancy calculator, and what is refused."""

import pytest

from harness.system.errors import UnsupportedError
from harness.targets.cuda.chips import CHIPS
from harness.targets.cuda.multiprocessor import occupancy, resident_limits, resident_workgroups
from harness.targets.cuda.vendor import nvidia_vendor
from harness.targets.gpu.launch import GpuKernel
from harness.targets.gpu.vendor import Vendor
from harness.targets.rocm.vendor import amd_vendor
from harness.targets.xegpu.vendor import intel_vendor


@pytest.mark.parametrize(
    ("threads", "registers", "shared_bytes", "chip", "expected"),
    [
        (128, 32, 0, "sm_80", 1.0),  # 16 workgroups of 4 warps
        (128, 128, 0, "sm_80", 4 * 4 / 64),  # registers: 16384 a workgroup
        (128, 255, 0, "sm_80", 2 * 4 / 64),
        (128, 40, 46080, "sm_80", 3 * 4 / 64),  # shared memory: 46 KiB with the system's part
        (128, 40, 46080, "sm_86", 2 * 4 / 48),
        (32, 24, 0, "sm_86", 16 / 48),  # workgroups
        (1024, 65, 0, "sm_90a", 0.0),  # more registers than there are
    ],
)
def test_what_there_is_least_of_decides(threads, registers, shared_bytes, chip, expected) -> None:
    assert occupancy(threads, registers, shared_bytes, chip) == pytest.approx(expected)
    warps_of_all = resident_workgroups(threads, registers, shared_bytes, chip) * threads / 32
    assert warps_of_all / CHIPS[chip].warps == pytest.approx(expected)


def test_each_resource_has_a_limit_of_its_own() -> None:
    limits = resident_limits(threads=128, registers=128, shared_bytes=46080, chip="sm_80")
    assert limits == {"workgroups": 32, "warps": 16, "registers": 4, "shared memory": 3}


@pytest.mark.parametrize("vendor", [nvidia_vendor("sm_89"), amd_vendor("gfx942"), intel_vendor("bmg")])
def test_a_workgroup_that_needs_too_much_shared_memory_is_unsupported(vendor: Vendor) -> None:
    most = vendor.workgroup_shared_bytes
    assert most is not None
    kernel = GpuKernel(name="attention", buffers=(), grid=1, threads=128, shared_bytes=most)
    vendor.require_room([kernel])
    with pytest.raises(UnsupportedError, match=rf"attention needs {most + 1} bytes .* may have {most} on"):
        vendor.require_room([kernel.model_copy(update={"shared_bytes": most + 1})])
