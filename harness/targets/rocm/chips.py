"""AMD's chips as data: their limits, and the features that code is chosen by.

Code is chosen by what a chip has and never by its number: gfx1170 is numbered like gfx11 and encodes its
matrix instructions like gfx12.

Sources, as they are named below.
LLVM: the processors and features of its AMDGPU back end, and what it says of registers, waves and LDS of a
processor (`AMDGPUBaseInfo`).  ISA: AMD's instruction set manuals, MI200, MI300, CDNA4, RDNA3 and RDNA4.
CK: Composable Kernel's documentation, "Understanding AMD GPU LDS and Bank Conflicts".  Measured: the phases
and banks of LDS that the public kernels of HipKittens come with, for MI355X, which differ for reads and
writes.  Of RDNA nobody says; lanes are taken to be served as they follow each other.
Data sheets: AMD's pages on MI250X, MI300X, MI355X, RX 7900 XTX and RX 9070 XT.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

KIB = 1024


class Feature(StrEnum):
    """What some chips have and others do not, each with LLVM's name of it where there is one."""

    MFMA = "mfma"
    """Matrix products of a wave of 64, four 16-bit elements of a lane at a time: `gfx90a-insts`."""
    MFMA_DEEP = "deep mfma"
    """The same, eight 16-bit elements of a lane at a time: `gfx950-insts`."""
    WMMA_REPLICATED = "replicated wmma"
    """Matrix products of a wave of 32, whose halves hold the same operands: `wmma-256b-insts`."""
    WMMA = "wmma"
    """Matrix products of a wave of 32, whose halves share the operands: `wmma-128b-insts`."""
    FLUSHED_SUBNORMALS = "flushed subnormals"
    """Matrix products of 16-bit elements take subnormal inputs and results for 0 (PyTorch, "Numerical
    accuracy"; MIOpen, "MI200 MFMA behavior specifics")."""
    ROW_EXCHANGE = "row exchange"
    """`v_permlanex16_b32`: a lane reads a register of one in the other row of 16 lanes; `gfx10-insts`."""
    PROPAGATING_MAXIMUM = "propagating maximum"
    """A maximum that is NaN where an operand is: `ieee-minimum-maximum-insts`, on gfx950 of three."""


@dataclass(frozen=True)
class Chip:
    """A chip's limits and features."""

    summary: str
    wave_size: int
    """Lanes of a wave of the kernels here (ISA)."""
    compute_units: int
    """Of the largest common device, for MI250X of one of its two dies (data sheets)."""
    waves: int
    """That a SIMD holds at most (LLVM)."""
    registers: int
    """Vector registers of 4 bytes that a SIMD has for each of a wave's lanes (LLVM)."""
    registers_of_lane: int
    """The most that one wave can have, accumulation registers included (LLVM)."""
    register_multiple: int
    """Registers are given to waves in multiples of this (LLVM)."""
    simds: int
    """Of a compute unit."""
    features: frozenset[Feature]
    lds_bytes: int = 64 * KIB
    """Of a compute unit, all of which one workgroup may have (LLVM)."""
    lds_multiple: int = 512
    """LDS is given to workgroups in multiples of this (LLVM)."""
    lds_banks: int = 32
    """Banks of 4 bytes, as lanes find them that read (ISA, "Local Data Share")."""
    lds_write_banks: int = 32
    """The same, as lanes find them that write (measured)."""
    wide_read_quads: tuple[tuple[int, ...], ...] = ()
    """Of each 32 lanes that read 16 bytes of LDS the fours that are served together (CK, measured); empty
    where lanes are served as they follow each other."""
    last_level_cache_bytes: int = 0
    """Of the cache behind L2, where there is one, "Infinity Cache" (data sheets)."""
    unused_llvm_feature: str | None = None
    """What LLVM takes to be an advantage of the chip and is none for kernels here."""
    workgroups: int = 32
    """That a compute unit holds at most (LLVM)."""


GFX90A = Chip(
    summary="CDNA 2: MI210, MI250",
    wave_size=64,
    compute_units=110,
    waves=8,
    registers=512,
    registers_of_lane=512,
    register_multiple=8,
    simds=4,
    wide_read_quads=((0, 5), (1, 4), (2, 7), (3, 6)),
    features=frozenset({Feature.MFMA, Feature.FLUSHED_SUBNORMALS}),
)
GFX942 = replace(
    GFX90A,
    summary="CDNA 3: MI300",
    compute_units=304,
    last_level_cache_bytes=256 * KIB * KIB,
    features=frozenset({Feature.MFMA}),
)
GFX950 = replace(
    GFX942,
    summary="CDNA 4: MI350",
    compute_units=256,
    lds_bytes=160 * KIB,
    lds_multiple=1280,
    lds_banks=64,
    wide_read_quads=((0, 3, 5, 6), (1, 2, 4, 7)),
    features=frozenset({Feature.MFMA, Feature.MFMA_DEEP, Feature.PROPAGATING_MAXIMUM}),
)
GFX1100 = Chip(
    summary="RDNA 3: RX 7900",
    wave_size=32,
    compute_units=96,
    waves=16,
    registers=1536,
    registers_of_lane=256,
    register_multiple=24,
    simds=2,
    last_level_cache_bytes=96 * KIB * KIB,
    features=frozenset({Feature.WMMA_REPLICATED, Feature.ROW_EXCHANGE}),
    unused_llvm_feature="real-true16",  # each half of a register is moved on its own: 120 moves in a loop
)
GFX1201 = replace(
    GFX1100,
    summary="RDNA 4: RX 9070",
    compute_units=64,
    last_level_cache_bytes=64 * KIB * KIB,
    features=frozenset({Feature.WMMA, Feature.ROW_EXCHANGE, Feature.PROPAGATING_MAXIMUM}),
    unused_llvm_feature=None,
)

CHIPS = {"gfx90a": GFX90A, "gfx942": GFX942, "gfx950": GFX950, "gfx1100": GFX1100, "gfx1201": GFX1201}
"""The chips that code is generated for, by LLVM's name."""


def waves_of_simd(registers: int, chip: Chip) -> int:
    """Return how many waves of so many registers a SIMD has room for, whatever else they need."""
    granted = _rounded_up(max(registers, 1), chip.register_multiple)
    return min(chip.waves, chip.registers // granted)


def resident_workgroups(threads: int, registers: int, shared_bytes: int, chip: Chip) -> int:
    """Return how many copies of a workgroup a compute unit has room for."""
    waves = -(-threads // chip.wave_size)
    by_waves = waves_of_simd(registers, chip) * chip.simds // waves
    granted = _rounded_up(shared_bytes, chip.lds_multiple)
    by_lds = chip.lds_bytes // granted if granted else chip.workgroups
    return min(chip.workgroups, by_waves, by_lds)


def occupancy(threads: int, registers: int, shared_bytes: int, chip: Chip) -> float:
    """Return the share of a compute unit's waves that copies of a workgroup can fill."""
    waves = -(-threads // chip.wave_size)
    resident = resident_workgroups(threads, registers, shared_bytes, chip)
    return resident * waves / (chip.waves * chip.simds)


def _rounded_up(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple
