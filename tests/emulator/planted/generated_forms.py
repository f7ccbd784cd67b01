"""Bugs planted into other forms of the generated `flash`: keys in parts, large tiles."""

from planted.bugs import planted_into
from planted.generated import BARRIER, SHUFFLE, WAIT
from planted.ir_edits import dropped, replaced, with_operand

in_parts = planted_into("flash of 10 queries in parts")
large_tiles = planted_into("flash in large tiles")

BUGS = (
    in_parts(
        "an accumulator that is not rescaled where parts are merged",
        replaced(r"fmul (<8 x float>) (%\d+), %\d+$", r"fadd \1 \2, zeroinitializer", 0, 9),
        "values",
    ),
    in_parts(
        "a row's sum that is not rescaled where parts are merged",
        replaced(r"fmul (<1 x float>) (%\d+), %\d+$", r"fadd \1 \2, zeroinitializer", 1, 3),
        "values",
    ),
    in_parts(
        "a part that is merged without its weight",
        replaced(r"fmul (<8 x float>) %\d+, (%\d+)$", r"fadd \1 \2, zeroinitializer", 3, 9),
        "values",
    ),
    in_parts(
        "the first part is merged twice",
        replaced(r"mul nuw nsw i64 (%\d+), 2560$", r"mul nuw nsw i64 \1, 0", 1, 2),
        "values",
    ),
    in_parts(
        "both parts leave their rows in one place",
        replaced(r"mul nuw nsw i64 (%\d+), 2560$", r"mul nuw nsw i64 \1, 0", 0, 2),
        "values",
    ),
    in_parts(
        "maxima of the second part are read from further behind",
        replaced(r"mul nuw nsw i64 (%\d+), 40$", r"mul nuw nsw i64 \1, 80"),
        "out-of-bounds values",
    ),
    in_parts(
        "maxima of rows behind the last one are left",
        replaced(r"br i1 %\d+, (label %\d+, label %\.critedge\.critedge)$", r"br i1 true, \1", 0, 1),
        "out-of-bounds",
    ),
    large_tiles(
        "no barrier before V is overwritten", dropped(BARRIER, 2, 9), "order race uninitialized values"
    ),
    large_tiles(
        "no barrier before the next K is copied over this one",
        dropped(BARRIER, 3, 9),
        "order race uninitialized values",
    ),
    large_tiles("K is not waited for", dropped(WAIT, 1, 5), "in-flight race values"),
    large_tiles("V is not waited for", dropped(WAIT, 2, 5), "in-flight race values"),
    large_tiles(
        "parts of a row's sum that are added up twice by one lane",
        with_operand(SHUFFLE, 2, "i32 0", 16, 24),
        "values",
    ),
    large_tiles("the sum of half of the lanes of a row", with_operand(SHUFFLE, 2, "i32 1", 17, 24), "values"),
)
