"""The rule for tiles, and what of them lies where: large ones where there is work and room enough."""

from dataclasses import replace

import pytest

from harness import plugins
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.system.errors import UnsupportedError
from harness.targets.cuda.vendor import nvidia_vendor
from harness.targets.gpu.strategy import GpuOptions, choose, left_open
from harness.targets.gpu.tile_choice import WorkgroupTile, busy_share
from harness.targets.gpu.vendor import Vendor
from harness.targets.gpu.workgroup import Workgroup
from harness.targets.rocm.vendor import amd_vendor

A100, H100 = nvidia_vendor("sm_80"), nvidia_vendor("sm_90a")
MI300, MI350, NAVI31, NAVI48 = (amd_vendor(chip) for chip in ("gfx942", "gfx950", "gfx1100", "gfx1201"))
UNLIMITED = replace(A100, most_operand_registers=None)


def problem(**fields: object) -> AttentionProblem:
    return AttentionProblem(**{"heads": 32, "seq_q": 4096, "head_dim": 64, "dtype": "f16", **fields})


@pytest.mark.parametrize(
    ("vendor", "fields", "queries"),
    [
        (A100, {}, 128),
        (A100, {"head_dim": 128}, 128),
        (A100, {"heads": 16, "seq_q": 1024}, 64),  # too few workgroups for large tiles
        (A100, {"heads": 1, "seq_q": 256}, 64),
        (A100, {"head_dim": 256}, 64),  # the output alone fills the registers
        (A100, {"dtype": "f32"}, 64),  # an operand is two numbers
        (NAVI31, {}, 64),  # both halves of a wave hold operands
        (NAVI48, {}, 64),  # one workgroup less would find room on a compute unit
        (NAVI48, {"head_dim": 32}, 128),
        (MI300, {}, 128),  # the same: Q of 256 rows takes more than half of LDS
        (MI350, {}, 256),
        (MI350, {"head_dim": 128}, 128),  # registers of 256 rows leave room for one wave
    ],
)
def test_warps_have_two_bands_where_work_and_room_allow(vendor: Vendor, fields: dict, queries: int) -> None:
    assert Workgroup(vendor, problem(**fields)).sizes.query == queries


def tile(vendor: Vendor = A100, queries: int = 128, **fields: object) -> WorkgroupTile:
    return WorkgroupTile(problem(**fields), vendor, queries, 64, warps=4)


@pytest.mark.parametrize(
    ("chosen_for", "expected"),
    [
        (
            tile(head_dim=64),
            {"query_operand": "registers", "staging_slots": 2, "product_order": "by-fragment"},
        ),
        (tile(queries=64, head_dim=64), {"product_order": "by-fragment", "operand_loads": "several-steps"}),
        (tile(head_dim=64), {"row_sums": "after-loop", "output_stores": "wide"}),
        # wide rows fill registers: Q leaves them, a slot is given up, loads are for one step
        (
            tile(head_dim=128),
            {"query_operand": "shared-memory", "staging_slots": 1, "operand_loads": "one-step"},
        ),
        (tile(head_dim=128), {"row_sums": "after-loop", "product_order": "by-step"}),
        (tile(queries=64, head_dim=128), {"operand_loads": "several-steps", "product_order": "by-step"}),
        # a second loop decides on sums and order where that spares the first one its spills
        (tile(head_dim=128, causal=True), {"row_sums": "every-tile", "product_order": "by-step"}),
        (tile(queries=64, head_dim=128, causal=True), {"row_sums": "after-loop", "product_order": "by-step"}),
        (tile(H100, head_dim=128, causal=True), {"row_sums": "after-loop", "product_order": "by-fragment"}),
        (tile(H100, head_dim=128), {"staging_slots": 1}),  # though shared memory has room for two
        (tile(UNLIMITED, head_dim=128), {"product_order": "by-fragment"}),
    ],
)
def test_the_strategy_follows_from_registers_and_loops(
    chosen_for: WorkgroupTile, expected: dict[str, object]
) -> None:
    chosen = choose(chosen_for, GpuOptions())
    assert {name: getattr(chosen, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("chosen_for", "copies"),
    [
        (tile(head_dim=64), "before-scores"),
        (replace(tile(head_dim=64), is_packed=True), "behind-scores"),
        (replace(tile(queries=64, head_dim=64), is_packed=True), "before-scores"),  # one band of rows
        (replace(tile(head_dim=128), is_packed=True), None),  # one slot: copies take turns
        (replace(tile(MI300, head_dim=64), is_packed=True), None),  # they pass through registers
    ],
)
def test_warps_with_two_packed_bands_copy_behind_scores(
    chosen_for: WorkgroupTile, copies: str | None
) -> None:
    assert choose(chosen_for, GpuOptions()).copies == copies


def test_a_time_of_copies_is_refused_where_none_go_ahead_to_a_slot() -> None:
    with pytest.raises(UnsupportedError, match="copies=behind-scores: kernels for gfx942 copy no tiles"):
        choose(tile(MI300, head_dim=64), GpuOptions(copies="behind-scores"))


def test_what_options_say_is_not_chosen() -> None:
    given = {
        "query_operand": "registers",
        "row_sums": "every-tile",
        "output_stores": "direct",
        "operand_loads": "several-steps",
        "product_order": "by-fragment",
    }
    options = GpuOptions(**given)
    chosen = choose(tile(head_dim=128), options)
    assert {name: getattr(chosen, name) for name in given} == given
    assert left_open(options, chosen) == {"staging_slots": chosen.staging_slots}


def test_the_tile_of_parameters_is_the_one_that_counts() -> None:
    case = Case(
        problem=problem(head_dim=128, heads=1, seq_q=256),
        variant="flash",
        target="cuda:sm_80",
        params={"tile_q": 128},
    )
    assert Workgroup(A100, case.problem).strategy(case).query_operand == "shared-memory"


def test_a_slot_is_given_up_only_for_a_resident_workgroup() -> None:
    assert [tile(head_dim=128).resident(slots, holds_query=False) for slots in (1, 2)] == [2, 1]
    assert tile(head_dim=128).shared_bytes(1, keeps_query=True) == 128 * 272 + 64 * 544
    assert tile(head_dim=128).shared_bytes(2, keeps_query=False) == 2 * 64 * 544


@pytest.mark.parametrize(
    ("seq_kv", "parts", "slots"),
    [
        (4096, 1, 2),  # 32 workgroups: each has a multiprocessor of its own
        (4096, 6, 2),  # 192 workgroups: two for a multiprocessor, which has room for them
        (4096, 32, 1),  # more than it has room for with two slots each
        (4096, 64, 1),  # one tile a part: nothing is copied ahead
        (64, 1, 1),
    ],
)
def test_slots_are_those_of_a_part_of_the_keys(seq_kv: int, parts: int, slots: int) -> None:
    decode = problem(head_dim=128, seq_q=1, seq_kv=seq_kv)
    case = Case(problem=decode, variant="flash", target="cuda:sm_80", params={"kv_splits": parts})
    assert Workgroup(A100, case.problem).strategy(case).staging_slots == slots


def test_the_parts_that_a_target_chooses_count_for_the_strategy() -> None:
    decode = problem(head_dim=128, seq_q=1, seq_kv=4096)
    case = Case(problem=decode, variant="flash", target="cuda:sm_80")
    chosen = plugins.variant("flash").chosen(case)
    assert (chosen["kv_splits"], chosen["staging_slots"]) == (6, 2)
    one = WorkgroupTile(decode, A100, 16, 64, warps=1)
    assert [replace(one, parts=parts).iterations for parts in (1, 6, 64)] == [64, 11, 1]


def test_multiprocessors_are_idle_for_the_rest_of_a_round_and_for_rows_that_are_padding() -> None:
    assert A100.multiprocessors is not None
    whole = problem(heads=108, seq_q=128)
    assert busy_share(A100.multiprocessors, whole, 128) == 1
    assert busy_share(A100.multiprocessors, problem(heads=54, seq_q=128), 128) == 0.5
    assert busy_share(A100.multiprocessors, problem(heads=108, seq_q=64), 128) == 0.5
    assert busy_share(A100.multiprocessors, problem(heads=109, seq_q=128), 128) == 109 / 216


def test_what_halves_of_a_wave_both_hold_counts_twice() -> None:
    replicated, shared = (
        WorkgroupTile(problem(), vendor, 128, 64, warps=4).registers(holds_query=True)
        for vendor in (NAVI31, NAVI48)
    )
    # P and Q of a row, 64 elements each, and 16 keys of 64 elements.
    assert replicated - shared == 32 + 32 + 16
