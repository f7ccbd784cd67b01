"""Which GPUs are here: what drivers and the kernel say, and what becomes of drivers that crash."""

import json
import subprocess
import sys

import pytest
from sweeps import sweep

from harness.system.machine import gpu_probe, gpus


@pytest.fixture(autouse=True)
def _fresh():
    gpus.devices.cache_clear()
    yield
    gpus.devices.cache_clear()


class Hip:
    """HIP with one device that answers, and one that does not."""

    def hipGetDeviceCount(self, count):  # noqa: N802
        count._obj.value = 2
        return 0

    def hipGetDevicePropertiesR0600(self, properties, ordinal):  # noqa: N802
        properties[:21] = b"AMD Instinct MI300X\0\0"
        properties[gpu_probe.MEMORY_OFFSET : gpu_probe.MEMORY_OFFSET + 8] = (192 << 30).to_bytes(8, "little")
        chip = b"gfx942:sramecc+:xnack-"
        properties[gpu_probe.CHIP_OFFSET : gpu_probe.CHIP_OFFSET + len(chip)] = chip
        return 0 if ordinal == 0 else 101


def test_hip_is_asked(monkeypatch):
    monkeypatch.setattr(gpu_probe.ctypes, "CDLL", lambda name: Hip())
    monkeypatch.setattr(gpu_probe, "amd_driver", lambda: "6.12.12")
    expected = {
        "name": "AMD Instinct MI300X",
        "chip": "gfx942",
        "memory_bytes": 192 << 30,
        "driver": "6.12.12",
    }
    assert gpu_probe.rocm_devices() == [expected]


class OpenCl:
    """OpenCL with a platform of Intel's, which has a GPU, and one of somebody else's, which has one, too."""

    PLATFORMS, DEVICES = (0x10, 0x20), {0x10: 0x11, 0x20: 0x21}
    PROPERTIES = {  # noqa: RUF012
        0x11: {
            gpu_probe.VENDOR_ID: gpu_probe.INTEL,
            gpu_probe.NAME: b"Intel(R) Arc(TM) B580 Graphics",
            gpu_probe.IP_VERSION: 0x05004004,
            gpu_probe.MEMORY_BYTES: 12 << 30,
            gpu_probe.DRIVER_VERSION_TEXT: b"25.40.35563.4",
        },
        0x21: {gpu_probe.VENDOR_ID: 0x10DE, gpu_probe.NAME: b"NVIDIA H100"},
    }

    def clGetPlatformIDs(self, capacity, handles, count):  # noqa: N802
        return self._list(self.PLATFORMS, handles, count)

    def clGetDeviceIDs(self, platform, type_, capacity, handles, count):  # noqa: N802
        assert type_.value == gpu_probe.GPU_TYPE
        return self._list((self.DEVICES[platform.value],), handles, count)

    def clGetDeviceInfo(self, device, name, capacity, value, size):  # noqa: N802
        found = self.PROPERTIES[device.value].get(name)
        if found is None:
            return -30
        if isinstance(found, bytes):
            value.value = found
        else:
            value._obj.value = found
        return 0

    def _list(self, found, handles, count):
        if count is not None:
            count._obj.value = len(found)
        if handles is not None:
            handles[:] = found
        return 0


def test_opencl_is_asked_for_intel_s_gpus(monkeypatch):
    monkeypatch.setattr(gpu_probe.ctypes, "CDLL", lambda name: OpenCl())
    expected = {
        "name": "Intel(R) Arc(TM) B580 Graphics",
        "chip": "bmg",
        "memory_bytes": 12 << 30,
        "driver": "25.40.35563.4",
    }
    assert gpu_probe.xegpu_devices() == [expected]


@pytest.mark.parametrize(
    ("version", "chip"),
    [
        (0x05004000, "bmg"),
        (0x030F0007, "pvc"),
        (0x05010004, "20.4"),
    ],
)
def test_chips_are_known_by_the_version_of_their_cores(version, chip):
    """The versions of B580, of Max and of Lunar Lake."""
    assert gpu_probe.intel_chip(version) == chip


class Driver:
    """libcuda with one device."""

    def cuInit(self, flags):  # noqa: N802
        return 0

    def cuDeviceGetCount(self, count):  # noqa: N802
        count._obj.value = 1
        return 0

    def cuDeviceGet(self, device, ordinal):  # noqa: N802
        device._obj.value = ordinal

    def cuDeviceGetName(self, name, size, device):  # noqa: N802
        name.value = b"NVIDIA H100"

    def cuDeviceGetAttribute(self, value, attribute, device):  # noqa: N802
        known = {gpu_probe.MAJOR_ATTRIBUTE: 9, gpu_probe.MINOR_ATTRIBUTE: 0, 13: 1980000, 16: 132, 32: 1}
        value._obj.value = known.get(attribute, 0)
        return 0 if attribute in known else 1

    def cuDeviceTotalMem_v2(self, size, device):  # noqa: N802
        size._obj.value = 80 << 30


def test_nvidias_driver_is_asked(monkeypatch):
    monkeypatch.setattr(gpu_probe.ctypes, "CDLL", lambda name: Driver())
    monkeypatch.setattr(gpu_probe, "nvidia_driver", lambda: "580.95.05")
    expected = {"name": "NVIDIA H100", "chip": "sm_90", "memory_bytes": 80 << 30, "driver": "580.95.05"}
    (device,) = gpu_probe.cuda_devices()
    assert expected.items() <= device.items()
    known = gpus.GpuDevice(**device)
    assert (known.multiprocessors, known.clock_mhz, known.ecc, known.l2_bytes) == (132, 1980, 1, None)


def test_the_driver_s_version_is_read_where_it_stands(tmp_path):
    file = tmp_path / "version"
    assert gpu_probe.nvidia_driver(file) is None
    file.write_text("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build\n")
    assert gpu_probe.nvidia_driver(file) == "580.95.05"


@pytest.mark.parametrize(
    ("printed", "found"),
    [
        ("null", None),
        ("[]", ()),
        (json.dumps([{"name": "A", "chip": "sm_80"}]), (gpus.GpuDevice("A", "sm_80"),)),
        ("", ()),  # it crashed
    ],
)
def test_the_probe_is_a_process_of_its_own(printed, found, monkeypatch):
    done = subprocess.CompletedProcess([], 0, printed.encode(), b"")
    monkeypatch.setattr(subprocess, "run", lambda *arguments, **options: done)
    assert gpus.devices("cuda") == found


@pytest.mark.parametrize("target", sweep(["cuda", "rocm", "xegpu"], but=["cuda"]))
def test_the_probe_answers_here(target):
    done = subprocess.run([sys.executable, "-I", str(gpus.PROBE), target], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout) is None or isinstance(json.loads(done.stdout), list)


def test_a_driver_that_never_answers_has_no_devices(monkeypatch):
    def run(command, *, timeout, **options):
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setattr(subprocess, "run", run)
    assert gpus.devices("cuda") == ()
