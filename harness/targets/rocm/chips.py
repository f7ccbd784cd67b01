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

from dataclasses import dataclass
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
    ACCUMULATION_REGISTERS = "accumulation registers"
    """Half of the registers of a lane are for accumulators: `mai-insts`, in one file since `gfx90a-insts`."""
    TRANSPOSED_LDS_READ = "transposed LDS read"
    """`ds_read_b64_tr_b16`: `gfx950-insts`."""
    TRANSPOSED_GLOBAL_READ = "transposed global read"
    """`global_load_tr_b128`: `gfx12-insts`."""
    WIDE_LOAD_TO_LDS = "wide load to LDS"
    """16 bytes of a lane go from global memory to LDS without registers: `gfx950-insts`."""
    LANE_SWAP = "lane swap"
    """`v_permlane32_swap_b32`, which exchanges the halves of two registers: `permlane32-swap`."""
    ROW_EXCHANGE = "row exchange"
    """`v_permlanex16_b32`: a lane reads a register of one in the other row of 16 lanes; `gfx10-insts`."""
    PROPAGATING_MAXIMUM = "propagating maximum"
    """A maximum that is NaN where an operand is: `ieee-minimum-maximum-insts`, on gfx950 of three."""
    BF16_CONVERSION = "bf16 conversion"
    """f32 is rounded to bf16 by one instruction: `bf16-cvt-insts`."""


@dataclass(frozen=True)
class Chip:
    """A chip's limits and features."""

    summary: str
    wave_sizes: tuple[int, ...]
    """Lanes of a wave, those that kernels here have first (ISA)."""
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
    lds_bytes: int
    """Of a compute unit."""
    workgroup_lds_bytes: int
    """That one workgroup may have (LLVM)."""
    lds_multiple: int
    """LDS is given to workgroups in multiples of this (LLVM)."""
    lds_banks: int
    """Banks of 4 bytes, as lanes find them that read (ISA, "Local Data Share")."""
    features: frozenset[Feature]
    last_level_cache_bytes: int = 0
    """Of the cache behind L2, where there is one, "Infinity Cache" (data sheets)."""
    lds_write_banks: int = 32
    """The same, as lanes find them that write (measured)."""
    wide_read_quads: tuple[tuple[int, ...], ...] = ()
    """Of each 32 lanes that read 16 bytes of LDS the fours that are served together (CK, measured); empty
    where lanes are served as they follow each other."""
    unused_llvm_feature: str | None = None
    """What LLVM takes to be an advantage of the chip and is none for kernels here."""
    simds: int = 4
    """Of a compute unit; RDNA's have two."""
    workgroups: int = 32
    """That a compute unit holds at most (LLVM)."""

    @property
    def wave_size(self) -> int:
        """Lanes of a wave of the kernels here."""
        return self.wave_sizes[0]


QUADS_OF_32_BANKS = ((0, 5), (1, 4), (2, 7), (3, 6))
QUADS_OF_64_BANKS = ((0, 3, 5, 6), (1, 2, 4, 7))

CDNA2_FEATURES = frozenset({Feature.MFMA, Feature.ACCUMULATION_REGISTERS})
CDNA4_FEATURES = CDNA2_FEATURES | {
    Feature.MFMA_DEEP,
    Feature.TRANSPOSED_LDS_READ,
    Feature.WIDE_LOAD_TO_LDS,
    Feature.LANE_SWAP,
    Feature.PROPAGATING_MAXIMUM,
    Feature.BF16_CONVERSION,
}

CHIPS = {
    "gfx90a": Chip(
        summary="CDNA 2: MI210, MI250",
        wave_sizes=(64,),
        compute_units=110,
        waves=8,
        registers=512,
        registers_of_lane=512,
        register_multiple=8,
        lds_bytes=64 * KIB,
        workgroup_lds_bytes=64 * KIB,
        lds_multiple=512,
        lds_banks=32,
        wide_read_quads=QUADS_OF_32_BANKS,
        features=CDNA2_FEATURES | {Feature.FLUSHED_SUBNORMALS},
    ),
    "gfx942": Chip(
        summary="CDNA 3: MI300",
        wave_sizes=(64,),
        compute_units=304,
        waves=8,
        registers=512,
        registers_of_lane=512,
        register_multiple=8,
        lds_bytes=64 * KIB,
        workgroup_lds_bytes=64 * KIB,
        lds_multiple=512,
        lds_banks=32,
        wide_read_quads=QUADS_OF_32_BANKS,
        last_level_cache_bytes=256 * KIB * KIB,
        features=CDNA2_FEATURES,
    ),
    "gfx950": Chip(
        summary="CDNA 4: MI350",
        wave_sizes=(64,),
        compute_units=256,
        waves=8,
        registers=512,
        registers_of_lane=512,
        register_multiple=8,
        lds_bytes=160 * KIB,
        workgroup_lds_bytes=160 * KIB,
        lds_multiple=1280,
        lds_banks=64,
        wide_read_quads=QUADS_OF_64_BANKS,
        last_level_cache_bytes=256 * KIB * KIB,
        features=CDNA4_FEATURES,
    ),
    "gfx1100": Chip(
        summary="RDNA 3: RX 7900",
        wave_sizes=(32, 64),
        compute_units=96,
        waves=16,
        registers=1536,
        registers_of_lane=256,
        register_multiple=24,
        lds_bytes=64 * KIB,
        workgroup_lds_bytes=64 * KIB,
        lds_multiple=512,
        lds_banks=32,
        last_level_cache_bytes=96 * KIB * KIB,
        features=frozenset({Feature.WMMA_REPLICATED, Feature.ROW_EXCHANGE}),
        unused_llvm_feature="real-true16",  # each half of a register is moved on its own: 120 moves in a loop
        simds=2,
    ),
    "gfx1201": Chip(
        summary="RDNA 4: RX 9070",
        wave_sizes=(32, 64),
        compute_units=64,
        waves=16,
        registers=1536,
        registers_of_lane=256,
        register_multiple=24,
        lds_bytes=64 * KIB,
        workgroup_lds_bytes=64 * KIB,
        lds_multiple=512,
        lds_banks=32,
        last_level_cache_bytes=64 * KIB * KIB,
        features=frozenset(
            {
                Feature.WMMA,
                Feature.ROW_EXCHANGE,
                Feature.TRANSPOSED_GLOBAL_READ,
                Feature.PROPAGATING_MAXIMUM,
            }
        ),
        simds=2,
    ),
}
"""The chips that code is generated for, by LLVM's name."""
