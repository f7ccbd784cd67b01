"""AMD's chips: their limits, against what LLVM says of them, and what their features select."""

import re
from dataclasses import replace
from importlib.metadata import version

import llvmlite.binding as llvm
import pytest
from sweeps import sweep

from harness.emulator.devices import device
from harness.system.toolchains import amd
from harness.targets.rocm import RocmTarget
from harness.targets.rocm.chips import CHIPS, Feature, occupancy, resident_workgroups, waves_of_simd
from harness.targets.rocm.vendor import matrix_instructions, shared_memory

KERNEL = """
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @kernel() "amdgpu-flat-work-group-size"="32,{threads}" {{
  call void asm sideeffect "; uses $0", "{{v{last}}}"(float 1.0)
  ret void
}}
"""


def waves_by_llvm(chip: str, registers: int, threads: int = 64) -> int:
    """Return the waves of a SIMD that LLVM states for a kernel of so many registers."""
    text = amd.assembly(KERNEL.format(last=registers - 1, threads=threads), chip)
    found = re.search(r"; Occupancy: (\d+)", text)
    assert found is not None
    return int(found[1])


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("registers", sweep([24, 40, 84, 100, 128, 170, 200, 256], but=[84, 200]))
def test_a_simd_has_room_for_the_waves_that_llvm_states(chip: str, registers: int) -> None:
    assert waves_of_simd(registers, CHIPS[chip]) == waves_by_llvm(chip, registers)


@pytest.mark.parametrize(
    ("chip", "name"),
    [
        ("gfx90a", "mfma.f32.32x32x8.f16.chained"),
        ("gfx942", "mfma.f32.32x32x8.f16.chained"),
        ("gfx950", "mfma.f32.32x32x16.f16.chained"),
        ("gfx1100", "wmma.gfx11.f32.16x16x16.f16.chained"),
        ("gfx1201", "wmma.gfx12.f32.16x16x16.f16.chained"),
    ],
)
def test_the_features_of_a_chip_choose_its_instruction(chip: str, name: str) -> None:
    assert matrix_instructions(CHIPS[chip])["f16"].name == name


@pytest.mark.parametrize("chip", [name for name, chip in CHIPS.items() if Feature.MFMA in chip.features])
def test_the_emulator_flushes_subnormal_numbers_where_the_chip_does(chip: str) -> None:
    symbol = device(chip).models["llvm.amdgcn.mfma.f32.16x16x16f16"].symbol or ""
    assert ("gfx90a" in symbol) == (Feature.FLUSHED_SUBNORMALS in CHIPS[chip].features)


def test_a_chip_that_is_numbered_like_others_has_the_instructions_of_its_features() -> None:
    gfx1170 = replace(CHIPS["gfx1100"], features=frozenset({Feature.WMMA}))
    assert matrix_instructions(gfx1170) == matrix_instructions(CHIPS["gfx1201"])


@pytest.mark.parametrize(
    ("chip", "readers", "writers"), [("gfx942", 8, 8), ("gfx950", 16, 8), ("gfx1100", 8, 8)]
)
def test_lds_serves_as_many_lanes_as_its_banks_have_words_for(chip: str, readers: int, writers: int) -> None:
    lds = shared_memory(CHIPS[chip])
    for banks, lanes in ((lds.reads, readers), (lds.writes, writers)):
        groups = banks.lanes_at_a_time(16)
        assert {len(group) for group in groups} == {lanes}
        assert sorted(lane for group in groups for lane in group) == list(range(CHIPS[chip].wave_size))


@pytest.mark.parametrize(
    ("chip", "first"),
    [
        ("gfx942", [*range(4), *range(20, 24)]),  # as Composable Kernel's documentation has it
        ("gfx950", [*range(4), *range(12, 16), *range(20, 28)]),  # as HipKittens measured it
        ("gfx1201", list(range(8))),
    ],
)
def test_lanes_that_read_16_bytes_together_are_those_that_were_measured(chip: str, first: list[int]) -> None:
    assert list(shared_memory(CHIPS[chip]).reads.lanes_at_a_time(16)[0]) == first
    assert list(shared_memory(CHIPS[chip]).reads.lanes_at_a_time(8)[0][:16]) == list(range(16))


def test_workgroups_are_as_many_as_the_scarcest_resource_has_room_for() -> None:
    chip = CHIPS["gfx942"]
    assert resident_workgroups(256, 128, 0, chip) == 4
    assert resident_workgroups(256, 128, 20_000, chip) == 3
    assert resident_workgroups(64, 24, 0, chip) == 32
    assert occupancy(256, 128, 20_000, chip) == 3 * 4 / 32


def test_the_version_of_the_linker_is_a_part_of_what_is_built() -> None:
    assert RocmTarget().tool_versions() == {"iree-base-compiler": version("iree-base-compiler")}


def test_llvm_knows_every_chip() -> None:
    llvm.initialize_all_targets()
    for chip in CHIPS:
        assert "p3:32:32" in amd.data_layout(chip)
