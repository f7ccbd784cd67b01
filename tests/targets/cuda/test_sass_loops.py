"""The loop that a kernel spends its time in."""

import pytest
from sass_text import disassembly

from harness.codegen.bounds.loop_model import Unmodelled
from harness.targets.cuda.sass import SassFunction, parse
from harness.targets.cuda.sass_loops import steady_state

PRODUCT = "HMMA.16816.F32 R4, R8, R12, R4"


def function(*lines: str) -> SassFunction:
    return parse(disassembly("attention", lines))["attention"]


def names(*lines: str) -> list[str]:
    return [instruction.name for instruction in steady_state(function(*lines))]


def test_the_loop_that_masks_nothing_is_the_steady_state() -> None:
    masked = [".L_x_0:", PRODUCT, "FSEL R4, R4, -INF, P1", "@P0 BRA `(.L_x_0)"]
    whole = [".L_x_1:", PRODUCT, "@P0 BRA `(.L_x_1)"]
    assert names(*masked, *whole) == names(*whole, *masked) == ["HMMA", "BRA"]


def test_the_loop_with_the_most_products_is_the_steady_state() -> None:
    rest = [".L_x_0:", PRODUCT, "MUFU.EX2 R0, R1", "@P0 BRA `(.L_x_0)"]
    unrolled = [".L_x_1:", PRODUCT, PRODUCT, "MUFU.EX2 R0, R1", "@P0 BRA `(.L_x_1)"]
    assert names(*rest, *unrolled) == ["HMMA", "HMMA", "MUFU", "BRA"]


def test_scores_of_several_loops_for_different_ends_are_not_modelled() -> None:
    maxima = [".L_x_0:", PRODUCT, "FMNMX R0, R0, R4, !PT", "@P0 BRA `(.L_x_0)"]
    exponentials = [".L_x_1:", PRODUCT, "MUFU.EX2 R0, R1", "@P0 BRA `(.L_x_1)"]
    with pytest.raises(
        Unmodelled, match="computes scores in several loops, some of them without exponentials"
    ):
        names(*maxima, *exponentials)


def test_an_inner_loop_is_taken_instead_of_the_outer_one() -> None:
    nested = [".L_x_0:", "MOV R1, R2", ".L_x_1:", PRODUCT, "@P0 BRA `(.L_x_1)", "@P1 BRA `(.L_x_0)"]
    assert names(*nested) == ["HMMA", "BRA"]


def test_conditional_jumps_forward_are_not_taken_and_others_are() -> None:
    code = [
        ".L_x_0:",
        "@P2 BRA `(.L_x_2)",
        "LDGSTS.E.BYPASS.128 [R3], [R6.64]",
        ".L_x_2:",
        "BRA `(.L_x_3)",
        "MOV R1, R2",
        ".L_x_3:",
        PRODUCT,
        "@!P0 BRA `(.L_x_4)",
        "BRA `(.L_x_0)",
        ".L_x_4:",
        "EXIT",
    ]
    assert names(*code) == ["BRA", "LDGSTS", "BRA", "HMMA", "BRA", "BRA"]


def test_a_kernel_without_such_a_loop_has_none() -> None:
    with pytest.raises(Unmodelled, match="attention has no loop with matrix instructions"):
        steady_state(function(PRODUCT, ".L_x_0:", "NOP", "@P0 BRA `(.L_x_0)"))
