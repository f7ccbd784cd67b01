"""Which GPUs are here: what drivers and the kernel say, and what becomes of drivers that crash."""

import json
import subprocess
import sys

import pytest

from harness.machine import gpu_probe, gpus


@pytest.fixture(autouse=True)
def _fresh():
    gpus.devices.cache_clear()
    yield
    gpus.devices.cache_clear()


@pytest.mark.parametrize(
    ("version", "name"), [(90402, "gfx942"), (90010, "gfx90a"), (110000, "gfx1100"), (120001, "gfx1201")]
)
def test_chips_are_named_as_compilers_name_them(version, name):
    assert gpu_probe.gfx_name(version) == name


def test_devices_are_read_off_the_kernels_topology(tmp_path, monkeypatch):
    monkeypatch.setattr(gpu_probe.ctypes, "CDLL", lambda name: None)
    for node, (version, product) in enumerate([(0, "a processor"), (90402, "Instinct MI300X")]):
        (tmp_path / str(node)).mkdir()
        (tmp_path / str(node) / "properties").write_text(f"simd_count 4\ngfx_target_version {version}\n")
        (tmp_path / str(node) / "name").write_text(f"{product}\n")
    assert gpu_probe.rocm_devices(tmp_path) == [{"name": "AMD Instinct MI300X", "chip": "gfx942"}]


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
        value._obj.value = {gpu_probe.MAJOR_ATTRIBUTE: 9, gpu_probe.MINOR_ATTRIBUTE: 0}[attribute]

    def cuDeviceTotalMem_v2(self, size, device):  # noqa: N802
        size._obj.value = 80 << 30


def test_nvidias_driver_is_asked(monkeypatch):
    monkeypatch.setattr(gpu_probe.ctypes, "CDLL", lambda name: Driver())
    monkeypatch.setattr(gpu_probe, "nvidia_driver", lambda: "580.95.05")
    expected = {"name": "NVIDIA H100", "chip": "sm_90", "memory_bytes": 80 << 30, "driver": "580.95.05"}
    assert gpu_probe.cuda_devices() == [expected]
    assert gpus.GpuDevice(**expected).memory_bytes == 80 << 30


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


@pytest.mark.parametrize("target", ["cuda", "rocm"])
def test_the_probe_answers_here(target):
    done = subprocess.run([sys.executable, "-I", str(gpus.PROBE), target], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout) is None or isinstance(json.loads(done.stdout), list)


def test_a_driver_that_never_answers_has_no_devices(monkeypatch):
    def run(command, *, timeout, **options):
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setattr(subprocess, "run", run)
    assert gpus.devices("cuda") == ()
