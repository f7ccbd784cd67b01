"""Bugs planted into the hand-written kernels for Intel."""

from planted.bugs import PlantedBug, bug
from planted.ir_edits import dropped, replaced, with_operand

BLOCK_IO = r"call void @_Z\d+intel_sub_group_2d_block_"
SUB_GROUP_BARRIER = r"call void @_Z17sub_group_barrierj"

BUGS: tuple[PlantedBug, ...] = (
    bug(
        "intel_dpas",
        "A's block height one less",
        with_operand(BLOCK_IO, 2, "i32 19", 0, 3),
        "clamped",
        "values",
    ),
    bug(
        "intel_dpas",
        "C's block height as if rows were padded",
        with_operand(BLOCK_IO, 2, "i32 24", 2, 3),
        "clamped",
        "out-of-bounds",
    ),
    bug(
        "intel_dpas",
        "A's width in elements, not bytes",
        with_operand(BLOCK_IO, 1, "i32 32", 0, 3),
        "clamped",
        "unsupported-operand",
        "values",
    ),
    bug(
        "intel_dpas",
        "A's pitch in elements, not bytes",
        with_operand(BLOCK_IO, 3, "i32 32", 0, 3),
        "unsupported-operand",
        "values",
    ),
    bug(
        "intel_dpas",
        "x and y swapped in B's coordinate",
        replaced(r"(%b_place = insertelement <2 x i32> zeroinitializer, i32 %k, i32) 1", r"\1 0"),
        "values",
    ),
    bug(
        "intel_dpas",
        "always the first rows of B",
        replaced(r"(%b_place = insertelement <2 x i32> zeroinitializer, i32) %k", r"\1 0"),
        "values",
    ),
    bug(
        "intel_dpas",
        "the accumulator forgotten",
        with_operand(r"= call <8 x float>", 2, "<8 x float> zeroinitializer"),
        "values",
    ),
    bug(
        "intel_dpas",
        "C written over A",
        with_operand(BLOCK_IO, 0, "ptr addrspace(1) %a", 2, 3),
        "read-only",
        "values",
    ),
    bug(
        "intel_sub_group_sum",
        "distance 3 for 4",
        with_operand(r"call float @_Z21sub_group_shuffle_xor", 1, "i32 3", 1, 4),
        "values",
    ),
    bug(
        "intel_sub_group_sum",
        "distance 16, past the sub-group",
        with_operand(r"call float @_Z21sub_group_shuffle_xor", 1, "i32 16", 0, 4),
        "inactive-source",
        "values",
    ),
    bug(
        "intel_exchange",
        "no barrier of the sub-group after the store",
        dropped(SUB_GROUP_BARRIER, 0, 2),
        "order",
        "uninitialized",
        "values",
    ),
    bug(
        "intel_exchange",
        "no barrier of the sub-group before the next store",
        dropped(SUB_GROUP_BARRIER, 1, 2),
        "order",
        "values",
    ),
    bug(
        "intel_exchange",
        "no barrier of the sub-group before the next store, lanes of it checked",
        dropped(SUB_GROUP_BARRIER, 1, 2),
        "order",
        "race",
        "values",
        checks_within_warps=True,
    ),
    bug(
        "intel_exchange",
        "a barrier of the sub-group for one of the work-group",
        replaced(r"@_Z7barrierj", "@_Z17sub_group_barrierj"),
        "order",
        "race",
        "uninitialized",
        "values",
    ),
)
