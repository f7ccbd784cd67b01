"""What the model of bounds assumes of NVIDIA's chips: data, each number with where it is from.

None of it was measured here.  Rates are of one sub-core, of which a multiprocessor has four, and one cycle of
its clock, unless they say otherwise.
"""

from dataclasses import dataclass, fields, replace

from harness.bounds.loop_model import Unmodelled
from harness.bounds.multiprocessor import Multiprocessor
from harness.targets.cuda.multiprocessor import WARP_LANES, multiprocessor_count

GUIDE = 'CUDA C++ Programming Guide 13.0, "Arithmetic Instructions", throughput per compute capability'
A100 = "NVIDIA A100 Tensor Core GPU Architecture (white paper, 2020)"
H100 = "NVIDIA H100 Tensor Core GPU Architecture (white paper, 2022)"
LUO = "Luo et al., Benchmarking and Dissecting the Nvidia Hopper GPU Architecture (arXiv 2402.13499, 2024)"
ASSUMED = "assumed; no source"
AFTER_LUO = f"assumed, near what {LUO} measure"


@dataclass(frozen=True)
class Stated:
    """A number, and who states it."""

    value: float
    source: str


@dataclass(frozen=True)
class ModelledChip:
    """What the model assumes of a chip."""

    name: str
    multiply_adds: Stated
    """Dense f16 or bf16 multiply-adds of the matrix unit; half as many of tf32."""
    mma_share: Stated
    """Share of that rate that `mma.sync` reaches; `wgmma` reaches all of it."""
    float_lanes: Stated
    """Lanes that multiply and add f32."""
    integer_multiply_lanes: Stated
    compare_lanes: Stated
    """Lanes of the pipe for comparisons, logic, integer additions and conversions."""
    special_lanes: Stated
    """Lanes of exponentials, reciprocals and other conversions."""
    uniform_cycles: Stated
    """Of an instruction that a warp executes once for all lanes."""
    shared_bytes: Stated
    """Bytes of shared memory, of the whole multiprocessor."""
    l2_bytes: Stated
    """Bytes from the second-level cache for each multiprocessor when all read."""
    l2_latency: Stated
    shared_latency: Stated
    shuffle_latency: Stated
    special_latency: Stated
    matrix_latency: Stated
    """From the end of an asynchronous product to what waits for it."""
    other_latency: Stated
    """Of whatever else raises a flag."""
    barrier_latency: Stated
    operand_read_cycles: Stated
    sub_cores: Stated
    multiprocessors: Stated
    """Of the chip."""
    lanes: Stated
    """Of a warp."""

    @property
    def multiprocessor(self) -> Multiprocessor:
        """What the simulation takes."""
        return Multiprocessor(
            lanes=int(self.lanes.value),
            count=int(self.multiprocessors.value),
            sub_cores=int(self.sub_cores.value),
            shared_bytes_per_cycle=self.shared_bytes.value,
            l2_bytes_per_cycle=self.l2_bytes.value,
            l2_latency=self.l2_latency.value,
            barrier_latency=self.barrier_latency.value,
            operand_read_cycles=self.operand_read_cycles.value,
        )

    def assumptions(self) -> dict[str, Stated]:
        """Return all numbers by name."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if isinstance(value, Stated)}


AMPERE = ModelledChip(
    name="sm_80",
    multiply_adds=Stated(256, f"{A100}: 1024 dense f16 multiply-adds a clock and multiprocessor"),
    mma_share=Stated(1.0, "assumed: ptxas puts 8 cycles between products, which is the peak"),
    float_lanes=Stated(16, GUIDE),
    integer_multiply_lanes=Stated(16, GUIDE),
    compare_lanes=Stated(16, GUIDE),
    special_lanes=Stated(4, GUIDE),
    uniform_cycles=Stated(2, ASSUMED),
    shared_bytes=Stated(128, "CUDA C++ Programming Guide 13.0, 32 banks of 4 bytes a clock"),
    l2_bytes=Stated(47.4, f"{A100}: 5120 bytes a clock for 108 multiprocessors"),
    l2_latency=Stated(262, AFTER_LUO),
    shared_latency=Stated(29, AFTER_LUO),
    shuffle_latency=Stated(23, ASSUMED),
    special_latency=Stated(22, ASSUMED),
    matrix_latency=Stated(20, ASSUMED),
    other_latency=Stated(12, ASSUMED),
    barrier_latency=Stated(16, ASSUMED),
    operand_read_cycles=Stated(10, ASSUMED),
    sub_cores=Stated(4, A100),
    multiprocessors=Stated(multiprocessor_count("sm_80"), A100),
    lanes=Stated(WARP_LANES, "CUDA C++ Programming Guide 13.0"),
)

HOPPER = replace(
    AMPERE,
    name="sm_90",
    multiply_adds=Stated(512, f"{H100}: 989 TFLOP/s dense f16 at 1830 MHz on 132 multiprocessors"),
    mma_share=Stated(0.629, f"{LUO}: mma.sync reaches 62.9 % of the peak on average"),
    float_lanes=Stated(32, GUIDE),
    l2_bytes=Stated(38.8, "assumed: the A100's 5120 bytes a clock, for 132 multiprocessors"),
    l2_latency=Stated(263, AFTER_LUO),
    sub_cores=Stated(4, H100),
    multiprocessors=Stated(multiprocessor_count("sm_90"), f"{H100}: SXM5"),
)
"""What is not named here is as in AMPERE."""

MODELLED = {chip.name: chip for chip in (AMPERE, HOPPER)}


def modelled_chip(chip: str) -> ModelledChip:
    """Return what is assumed of a chip, with or without the suffix for instructions of its own.

    Raises:
        Unmodelled: nothing is.
    """
    name = chip.rstrip("af")
    if name not in MODELLED:
        raise Unmodelled(f"no model of {chip}: modelled are {', '.join(MODELLED)}, with any suffix")
    return MODELLED[name]
