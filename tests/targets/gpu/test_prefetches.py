"""Prefetches of the tiles that a loop's next iteration reads."""

import re

import pytest
from emulated_runs import assert_right_on_emulator, built, text

from harness.problem.attention_problem import AttentionProblem
from harness.system.errors import UnsupportedError

WHOLE = AttentionProblem(heads=1, seq_q=64, seq_kv=192, head_dim=64, dtype="f16")
RAGGED = AttentionProblem(heads=2, seq_q=64, seq_kv=150, head_dim=64, dtype="f16")
CAUSAL = AttentionProblem(heads=1, seq_q=128, head_dim=64, dtype="f16", causal=True)
ONE_TILE = AttentionProblem(heads=1, seq_q=64, head_dim=64, dtype="f16")
PREFETCH = re.compile(r"memref\.prefetch (%arg\d)\[([^\]]*)\].*\{tile = array<i64: (\d+), (\d+)>\}")


BMG = "xegpu:bmg"


def prefetched(problem: AttentionProblem) -> str:
    return text(*built(problem, BMG), "prefetched")


def test_iterations_begin_by_asking_for_the_next_tiles() -> None:
    code = prefetched(WHOLE)
    ((_, position),) = re.findall(r"scf.for (%(\w+)) = ", code)
    ((following, _),) = re.findall(rf"(%(\w+)) = arith.addi %{position}, %c64 : index", code)
    either = rf"(%(\w+)) = arith.select %\w+, {following}, %{position} : index"
    ((next_or_same, _),) = re.findall(either, code)
    ((last, _),) = re.findall(rf"(%(\w+)) = arith.minui {next_or_same}, %c128 : index", code)
    prefetches = PREFETCH.findall(code)
    assert [buffer for buffer, *_ in prefetches] == ["%arg1", "%arg2"]
    for _, indices, *tile in prefetches:
        assert indices.split(", ")[-2:] == [last, "%c0"]
        assert tile == ["64", "64"]
    loop = code.split("scf.for ", 1)[1]
    assert loop.index("memref.prefetch") < loop.rindex("memref.prefetch") < loop.index("vector.transfer_read")
    just_in_time = text(*built(WHOLE, BMG), "just-in-time")
    assert just_in_time.count("xegpu.prefetch_nd") == 2  # of 16 rows and 32 columns for each sub-group
    assert "memref.prefetch" not in just_in_time


@pytest.mark.sweep
def test_a_last_tile_that_is_moved_back_is_asked_for_where_it_is_read() -> None:
    code = prefetched(RAGGED)
    last = RAGGED.seq_kv - 64
    assert re.search(rf"arith.minui %\w+, %c{last} : index|affine_map<.*min.*{last}", code)
    assert_right_on_emulator(*built(RAGGED, BMG))


def test_both_loops_under_a_causal_mask_have_them() -> None:
    loops = prefetched(CAUSAL).split("scf.for ")[1:]
    assert [loop.count("memref.prefetch") for loop in loops] == [2, 2]


@pytest.mark.sweep
@pytest.mark.parametrize("variant", ["naive", "unfused"])
def test_loops_of_other_variants_have_them_and_are_right(variant: str) -> None:
    artifact, folder = built(WHOLE, BMG, variant)
    assert "memref.prefetch" in text(artifact, folder, "prefetched")
    assert_right_on_emulator(artifact, folder)


def test_where_there_is_one_tile_there_is_no_next_one() -> None:
    assert "prefetch" not in prefetched(ONE_TILE)


def test_rows_that_no_message_names_are_not_prefetched() -> None:
    narrow = AttentionProblem(heads=1, seq_q=64, seq_kv=160, head_dim=16, dtype="f16")
    artifact, folder = built(narrow, BMG)
    assert "prefetch" not in text(artifact, folder, "distributed")
    assert_right_on_emulator(artifact, folder)


def test_an_option_leaves_them_out() -> None:
    artifact, folder = built(WHOLE, BMG, options={"prefetches": "none"})
    assert "prefetched" not in artifact.stage_files
    assert "prefetch" not in text(artifact, folder, "llvm-ir")


def test_vendors_without_them_refuse_the_option() -> None:
    with pytest.raises(UnsupportedError, match=r"prefetches=next-tile: kernels for sm_80 prefetch nothing"):
        built(WHOLE, "cuda:sm_80", options={"prefetches": "next-tile"})
