"""What NVIDIA's instructions ask of a multiprocessor."""

import pytest
from sass_text import Line, disassembly

from harness.codegen.bounds.instruction import Instruction, Order
from harness.codegen.bounds.loop_model import Unmodelled
from harness.targets.cuda import CudaTarget
from harness.targets.cuda.modelled_chips import AMPERE, HOPPER, MODELLED, modelled_chip
from harness.targets.cuda.sass import parse
from harness.targets.cuda.sass_costs import costs


def cost(text: str, chip=AMPERE, **control: object) -> Instruction:
    (instruction,) = parse(disassembly("attention", [Line(text, **control)]))["attention"].instructions
    return costs(instruction, chip)


@pytest.mark.parametrize(
    ("text", "ampere", "hopper"),
    [
        ("HMMA.16816.F32 R4, R8, R12, R4", ("tensor", 8), ("tensor", 4 / 0.629)),
        ("HMMA.1688.F32.TF32 R4, R8, R12, R4", ("tensor", 8), ("tensor", 4 / 0.629)),
        ("MUFU.EX2 R3, R3", ("special", 8), ("special", 8)),
        ("FFMA R4, R8, R12, R4", ("fma", 2), ("fma", 1)),
        ("IMAD.MOV.U32 R4, RZ, RZ, R8", ("fma", 2), ("fma", 2)),
        ("FMNMX R4, R8, R12, !PT", ("alu", 2), ("alu", 2)),
        ("F2FP.F16.F32.PACK_AB R4, R8, R12", ("alu", 2), ("alu", 2)),
        ("UMOV UR4, 0x400", ("uniform", 2), ("uniform", 2)),
        ("NOP", (None, 0), (None, 0)),
        ("@P0 BRA `(.L_x_0)", (None, 0), (None, 0)),
    ],
)
def test_pipes_and_cycles(
    text: str, ampere: tuple[str | None, float], hopper: tuple[str | None, float]
) -> None:
    for chip, (pipe, cycles) in ((AMPERE, ampere), (HOPPER, hopper)):
        found = cost(text, chip)
        assert (found.pipe, found.pipe_cycles) == (pipe, pytest.approx(cycles))


def test_matrix_products_are_compared_with_the_dense_peak_of_their_type() -> None:
    half, tf32 = (
        cost("HMMA.16816.F32 R4, R8, R12, R4", HOPPER),
        cost("HMMA.1688.F32.TF32 R4, R8, R12, R4", HOPPER),
    )
    assert (half.multiply_adds, half.peak_cycles) == (2048, 4)
    assert (tf32.multiply_adds, tf32.peak_cycles) == (1024, 4)


@pytest.mark.parametrize(
    ("text", "shared", "operands"),
    [
        ("LDSM.16.M88.4 R8, [R3]", 512, 512),
        ("LDSM.16.MT88.2 R8, [R3]", 256, 256),
        ("LDSM.16.M88 R8, [R3]", 128, 128),
        ("LDS.U.128 R8, [R3]", 512, 512),
        ("LDS.U16 R8, [R3]", 128, 128),
        ("STS.64 [R3], R8", 256, 0),
        ("SHFL.BFLY PT, R3, R4, 0x1, 0x1f", 128, 0),
        ("STL.64 [R1], R8", 256, 0),
        ("@!PT LDS RZ, [RZ]", 0, 0),
    ],
)
def test_bytes_through_shared_memory(text: str, shared: float, operands: float) -> None:
    found = cost(text)
    assert (found.shared_bytes, found.operand_bytes) == (shared, operands)


def test_a_copy_comes_from_the_second_level_cache() -> None:
    found = cost("@!P2 LDGSTS.E.BYPASS.128 [R3], desc[UR4][R6.64]")
    assert (found.is_copy, found.l2_bytes, found.shared_bytes) == (True, 512, 512)


def test_what_orders_others() -> None:
    assert cost("LDGDEPBAR").order is Order.COMMIT_COPIES
    assert cost("BAR.SYNC.DEFER_BLOCKING 0x0").order is Order.BARRIER
    assert cost("BAR.ARV 0x1, 0x80").order is Order.NONE
    waiting = cost("DEPBAR.LE SB0, 0x2")
    assert (waiting.order, waiting.outstanding) == (Order.AWAIT_COPIES, 2)
    products = cost("WARPGROUP.DEPBAR.LE gsb0, 0x1", HOPPER)
    assert (products.order, products.outstanding) == (Order.AWAIT_PRODUCTS, 1)


def test_asynchronous_products_read_shared_memory_themselves() -> None:
    """64 × 128 × 16 of four warps: K from shared memory, and Q or P from there or from registers."""
    both = cost("HGMMA.64x128x16.F32 R24, gdesc[UR8], RZ, !UPT", HOPPER)
    one = cost("HGMMA.64x128x16.F32 R24, R4, gdesc[UR8], R24, gsb0", HOPPER)
    assert (both.multiply_adds, both.pipe_cycles) == (64 * 128 * 16 // 4, 64)
    assert (both.operand_bytes, one.operand_bytes) == ((128 + 64) * 16 * 2 / 4, 128 * 16 * 2 / 4)
    assert [both.commits_products, one.commits_products] == [False, True]
    assert both.is_queued


@pytest.mark.parametrize(
    "text",
    ["UTMALDG.3D [UR8], [UR6]", "SYNCS.PHASECHK.TRANS64 P0, [R2], R3", "IMMA.16816.S8.S8 R4, R8, R12, R4"],
)
def test_what_the_model_does_not_know_is_said(text: str) -> None:
    with pytest.raises(Unmodelled, match=f"the model does not know {text.split()[0]}"):
        cost(text)


def test_a_chip_that_is_not_modelled_is_said() -> None:
    with pytest.raises(Unmodelled, match="no model of sm_120: modelled are sm_80, sm_90"):
        modelled_chip("sm_120")
    assert set(MODELLED) <= set(CudaTarget().chips())
