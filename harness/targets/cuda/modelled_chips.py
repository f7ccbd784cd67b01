"""What the model of bounds assumes of NVIDIA's chips: data, each number with where it is from.

None of it was measured here.  Rates are of one sub-core, of which a multiprocessor has four, and one cycle of
its clock, unless they say otherwise.

GUIDE: CUDA C++ Programming Guide 13.0, "Arithmetic Instructions", throughput per compute capability, and of
shared memory 32 banks of 4 bytes a clock.  A100, H100: NVIDIA's white papers on the architectures of the A100
(2020) and the H100 (2022).  LUO: Luo et al., Benchmarking and Dissecting the Nvidia Hopper GPU Architecture
(arXiv 2402.13499, 2024); numbers near what they measure.  ASSUMED: there is no source.
"""

from dataclasses import dataclass, replace

from harness.codegen.bounds.loop_model import Unmodelled
from harness.codegen.bounds.multiprocessor import Multiprocessor
from harness.targets.cuda.chips import CHIPS
from harness.targets.cuda.multiprocessor import WARP_LANES


@dataclass(frozen=True)
class ModelledChip:
    """What the model assumes of a chip."""

    name: str
    multiprocessor: Multiprocessor
    """What the simulation takes."""
    multiply_adds: float
    """Dense f16 or bf16 multiply-adds of the matrix unit; half as many of tf32."""
    mma_share: float
    """Share of that rate that `mma.sync` reaches; `wgmma` reaches all of it."""
    float_lanes: int
    """Lanes that multiply and add f32."""
    integer_multiply_lanes: int = 16  # GUIDE
    compare_lanes: int = 16  # GUIDE
    """Lanes of the pipe for comparisons, logic, integer additions and conversions."""
    special_lanes: int = 4  # GUIDE
    """Lanes of exponentials, reciprocals and other conversions."""
    uniform_cycles: float = 2  # ASSUMED
    """Of an instruction that a warp executes once for all lanes."""
    shared_latency: float = 29  # LUO
    shuffle_latency: float = 23  # ASSUMED
    special_latency: float = 22  # ASSUMED
    matrix_latency: float = 20  # ASSUMED
    """From the end of an asynchronous product to what waits for it."""
    other_latency: float = 12  # ASSUMED
    """Of whatever else raises a flag."""


AMPERE = ModelledChip(
    name="sm_80",
    multiply_adds=256,  # A100: 1024 dense f16 multiply-adds a clock and multiprocessor
    mma_share=1.0,  # ASSUMED: ptxas puts 8 cycles between products, which is the peak
    float_lanes=16,  # GUIDE
    multiprocessor=Multiprocessor(
        lanes=WARP_LANES,
        count=CHIPS["sm_80"].multiprocessors,
        sub_cores=4,  # A100
        shared_bytes_per_cycle=128,  # GUIDE
        l2_bytes_per_cycle=47.4,  # A100: 5120 bytes a clock for 108 multiprocessors, when all read
        l2_latency=262,  # LUO
        barrier_latency=16,  # ASSUMED
        operand_read_cycles=10,  # ASSUMED
    ),
)

HOPPER = replace(
    AMPERE,
    name="sm_90",
    multiply_adds=512,  # H100: 989 TFLOP/s dense f16 at 1830 MHz on 132 multiprocessors
    mma_share=0.629,  # LUO: mma.sync reaches 62.9 % of the peak on average
    float_lanes=32,  # GUIDE
    multiprocessor=replace(
        AMPERE.multiprocessor,
        count=CHIPS["sm_90"].multiprocessors,
        l2_bytes_per_cycle=38.8,  # ASSUMED: the A100's 5120 bytes a clock, for 132 multiprocessors
        l2_latency=263,  # LUO
    ),
)
"""What is not named here is as in AMPERE; of the H100's SXM5."""

MODELLED = {chip.name: chip for chip in (AMPERE, HOPPER)}


def modelled_chip(chip: str) -> ModelledChip:
    """Return what is assumed of a chip, with or without its suffix; raises `Unmodelled` where nothing is."""
    name = chip.rstrip("af")
    if name not in MODELLED:
        raise Unmodelled(f"no model of {chip}: modelled are {', '.join(MODELLED)}, with any suffix")
    return MODELLED[name]
