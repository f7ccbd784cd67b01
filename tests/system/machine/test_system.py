"""The machine's description: names made readable, files of the system read, gaps left open."""

import os

import pytest

from harness.system.machine import system as module
from harness.system.machine.system import (
    Processor,
    cache_sizes,
    clean_brand,
    cpu_quota,
    describe_processor,
    device_name,
    machine,
    parse_proc_cpuinfo,
)


@pytest.mark.parametrize(
    ("brand", "expected"),
    [
        ("AMD EPYC 7763 64-Core Processor", "AMD EPYC 7763"),
        ("Intel(R) Xeon(R) Platinum 8480+", "Intel Xeon Platinum 8480+"),
        ("Intel(R) Core(TM) i7-9750H CPU @ 2.60GHz", "Intel Core i7-9750H"),
    ],
)
def test_a_brand_loses_what_says_nothing(brand, expected):
    assert clean_brand(brand) == expected


def test_a_processor_is_named_by_brand_vectors_and_cores():
    cpu = Processor("AMD EPYC 7763 64-Core Processor", 25, 1, frozenset({"avx", "avx2", "fma"}))
    assert describe_processor(cpu, 64) == "AMD EPYC 7763 (avx2, 64 cores)"


def test_proc_cpuinfo_gives_the_first_processor():
    text = (
        "processor\t: 0\ncpu family\t: 26\nmodel\t\t: 2\nmodel name\t: AMD EPYC 9755\n"
        "flags\t\t: fpu avx2 avx512f\n\nprocessor\t: 1\nmodel name\t: another\n"
    )
    expected = Processor("AMD EPYC 9755", 26, 2, frozenset({"fpu", "avx2", "avx512f"}))
    assert parse_proc_cpuinfo(text) == expected


def test_cache_sizes_come_from_the_system_by_level_and_kind(monkeypatch, tmp_path):
    entries = [("1", "Data", "48K"), ("1", "Instruction", "32K"), ("2", "Unified", "2M"), ("3", "Odd", "1M")]
    for index, (level, kind, size) in enumerate(entries):
        folder = tmp_path / "cpu0" / "cache" / f"index{index}"
        folder.mkdir(parents=True)
        for name, value in (("level", level), ("type", kind), ("size", size)):
            (folder / name).write_text(value + "\n")
    monkeypatch.setattr(module, "CPU_FOLDER", tmp_path)
    assert cache_sizes() == {"L1d": 48 * 2**10, "L1i": 32 * 2**10, "L2": 2 * 2**20}


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({"": "150000 100000\n"}, 1.5),
        ({}, None),
        ({"batch/job": "50000 100000\n", "batch": "200000 100000\n"}, 0.5),
        ({"batch/job": "max 100000\n", "batch": "200000 100000\n"}, 2.0),
    ],
)
def test_the_quota_is_the_least_of_the_groups_that_this_process_is_in(
    monkeypatch, tmp_path, limits, expected
):
    (tmp_path / "batch/job").mkdir(parents=True)
    (tmp_path / "self").write_text("1:cpu:/older\n0::/batch/job\n")
    for group, text in limits.items():
        (tmp_path / group / "cpu.max").write_text(text)
    monkeypatch.setattr(module, "CGROUPS", tmp_path)
    monkeypatch.setattr(module, "OWN_CGROUPS", tmp_path / "self")
    assert cpu_quota() == expected


@pytest.mark.parametrize(
    ("flags", "vendor", "expected"),
    [((), "QEMU", None), (("hypervisor",), "QEMU", "QEMU"), (("hypervisor",), "", "yes")],
)
def test_a_hypervisor_is_named_by_its_vendor(monkeypatch, tmp_path, flags, vendor, expected):
    (tmp_path / "sys_vendor").write_text(vendor)
    monkeypatch.setattr(module, "SYSTEM_VENDOR", tmp_path / "sys_vendor")
    assert module._hypervisor(Processor("x", flags=frozenset(flags))) == expected


def test_this_machine_is_described_and_read_once():
    here = machine()
    assert here.cores_usable == len(os.sched_getaffinity(0))
    assert here.memory_bytes == os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert device_name().startswith(clean_brand(here.cpu))
    assert machine() is here
