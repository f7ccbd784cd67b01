"""Intel's chips: their limits, and what they make of tiles."""

import pytest

from harness.emulator.devices import device
from harness.problem.attention_problem import AttentionProblem
from harness.system.machine.gpus import GpuDevice
from harness.targets.xegpu import XegpuTarget
from harness.targets.xegpu.chips import CHIPS, SUB_GROUP, resident_workgroups
from harness.targets.xegpu.processor import INSTALL, runtime
from harness.targets.xegpu.vendor import intel_vendor


@pytest.mark.parametrize("chip", CHIPS)
def test_lanes_are_those_of_the_instructions_and_of_the_emulator(chip: str) -> None:
    vendor = intel_vendor(chip)
    assert device(chip).warp_size == SUB_GROUP
    assert {known.lanes for known in vendor.matrix_instructions.values()} == {SUB_GROUP}
    assert set(vendor.matrix_instructions) == {"f16", "bf16"}


def test_a_sub_group_has_16_kib_of_registers_in_the_large_mode() -> None:
    """oneAPI GPU Optimization Guide: 256 registers of 64 bytes."""
    assert CHIPS["pvc"].registers_of_lane * 4 * SUB_GROUP == 16 * 1024


@pytest.mark.parametrize(("registers", "resident"), [(256, 4), (129, 4), (128, 8), (64, 8)])
def test_half_of_the_registers_make_room_for_twice_as_many_sub_groups(registers: int, resident: int) -> None:
    assert resident_workgroups(8 * SUB_GROUP, registers, 0, CHIPS["bmg"]) == resident


def test_long_rows_have_fewer_keys_in_a_tile() -> None:
    problem = AttentionProblem(heads=1, seq_q=256, head_dim=64, dtype="f16")
    wide = problem.model_copy(update={"head_dim": 128, "head_dim_v": 128})
    assert [XegpuTarget().tile_sizes("bmg", one).key for one in (problem, wide)] == [64, 32]


def capabilities() -> dict[str, tuple[bool, str]]:
    return {found.action: (found.available, found.detail) for found in XegpuTarget().capabilities()}


def devices(monkeypatch: pytest.MonkeyPatch, *found: GpuDevice) -> None:
    monkeypatch.setattr("harness.targets.gpu.target.devices", lambda target: found)


def test_the_processor_stands_in_where_intel_s_runtime_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "installed_version", lambda: None)
    assert capabilities()["opencl"] == (False, f"install {INSTALL}")
    monkeypatch.setattr(runtime, "installed_version", lambda: "2026.2.0")
    assert capabilities()["opencl"] == (True, "SPIR-V on this processor, by Intel's OpenCL runtime 2026.2.0")


@pytest.mark.parametrize(("heads", "length", "queries"), [(1, 333, 64), (16, 1024, 128)])
def test_sub_groups_have_two_bands_of_rows_where_there_is_work_enough(
    heads: int, length: int, queries: int
) -> None:
    problem = AttentionProblem(heads=heads, seq_q=length, head_dim=64, dtype="f16")
    assert XegpuTarget().tile_sizes("bmg", problem).query == queries
