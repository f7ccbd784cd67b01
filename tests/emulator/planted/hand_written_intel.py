"""Bugs planted into the hand-written kernels for Intel."""

from planted.bugs import planted_into
from planted.ir_edits import dropped, replaced, with_operand

BLOCK_IO = r"call void @_Z\d+intel_sub_group_2d_block_"
SUB_GROUP_BARRIER = r"call void @_Z17sub_group_barrierj"

dpas, sub_group_sum, exchange = map(planted_into, ("intel_dpas", "intel_sub_group_sum", "intel_exchange"))

BUGS = (
    dpas("A's block height one less", with_operand(BLOCK_IO, 2, "i32 19", 0, 3), "clamped values"),
    dpas(
        "C's block height as if rows were padded",
        with_operand(BLOCK_IO, 2, "i32 24", 2, 3),
        "clamped out-of-bounds",
    ),
    dpas(
        "A's width in elements, not bytes",
        with_operand(BLOCK_IO, 1, "i32 32", 0, 3),
        "clamped unsupported-operand values",
    ),
    dpas(
        "A's pitch in elements, not bytes",
        with_operand(BLOCK_IO, 3, "i32 32", 0, 3),
        "unsupported-operand values",
    ),
    dpas(
        "x and y swapped in B's coordinate",
        replaced(r"(%b_place = insertelement <2 x i32> zeroinitializer, i32 %k, i32) 1", r"\1 0"),
        "values",
    ),
    dpas(
        "always the first rows of B",
        replaced(r"(%b_place = insertelement <2 x i32> zeroinitializer, i32) %k", r"\1 0"),
        "values",
    ),
    dpas(
        "the accumulator forgotten",
        with_operand(r"= call <8 x float>", 2, "<8 x float> zeroinitializer"),
        "values",
    ),
    dpas("C written over A", with_operand(BLOCK_IO, 0, "ptr addrspace(1) %a", 2, 3), "read-only values"),
    sub_group_sum(
        "distance 3 for 4", with_operand(r"call float @_Z21sub_group_shuffle_xor", 1, "i32 3", 1, 4), "values"
    ),
    sub_group_sum(
        "distance 16, past the sub-group",
        with_operand(r"call float @_Z21sub_group_shuffle_xor", 1, "i32 16", 0, 4),
        "inactive-source values",
    ),
    exchange(
        "no barrier of the sub-group after the store",
        dropped(SUB_GROUP_BARRIER, 0, 2),
        "order uninitialized values",
    ),
    exchange(
        "no barrier of the sub-group before the next store", dropped(SUB_GROUP_BARRIER, 1, 2), "order values"
    ),
    exchange(
        "no barrier of the sub-group before the next store, lanes of it checked",
        dropped(SUB_GROUP_BARRIER, 1, 2),
        "order race values",
        within_warps=True,
    ),
    exchange(
        "a barrier of the sub-group for one of the work-group",
        replaced(r"@_Z7barrierj", "@_Z17sub_group_barrierj"),
        "order race uninitialized values",
    ),
)
