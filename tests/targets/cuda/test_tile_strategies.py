"""How kernels hold and move their tiles: each strategy by itself and with the others, on the emulator."""

import itertools
from pathlib import Path

import pytest
from emulated_runs import assert_right, build, text
from sweeps import sweep

from harness.problem.attention_problem import AttentionProblem

RAGGED = AttentionProblem(heads=1, seq_q=140, head_dim=64, dtype="f16", causal=True)
CROSS = AttentionProblem(heads=2, kv_heads=1, seq_q=150, seq_kv=330, head_dim=128, dtype="bf16")
TOKENS = AttentionProblem(
    heads=1, head_dim=64, dtype="f16", cu_seqlens_q=(0, 100, 256), cu_seqlens_kv=(0, 130, 330)
)
STRATEGIES = list(itertools.product(["registers", "shared-memory"], [1, 2]))
SMALL, LARGE = {"tile_q": 64}, {"tile_q": 128}
problems = pytest.mark.parametrize("problem", sweep([RAGGED, CROSS], but=[RAGGED]), ids=["ragged", "cross"])


@problems
@pytest.mark.parametrize(("query_operand", "staging_slots"), sweep(STRATEGIES, but=[("shared-memory", 1)]))
def test_every_strategy_is_right_and_the_checks_find_nothing(
    problem: AttentionProblem, query_operand: str, staging_slots: int, tmp_path: Path
) -> None:
    options = {"query_operand": query_operand, "staging_slots": staging_slots}
    artifact = build(problem, tmp_path, params=LARGE, **options)
    assert artifact.metrics.bank_conflicts == 0
    assert_right(artifact, tmp_path)


@pytest.mark.parametrize(
    ("variant", "options"),
    [
        (variant, options)
        for variant in ("naive", "unfused")
        for options in (
            {"query_operand": "shared-memory", "staging_slots": 1},
            {"product_order": "by-step"},
        )
    ],
)
@pytest.mark.sweep
def test_other_variants_have_large_tiles_with_all_strategies(
    variant: str, options: dict, tmp_path: Path
) -> None:
    assert_right(build(RAGGED, tmp_path, variant, params=LARGE, **options), tmp_path)


@pytest.mark.parametrize(
    "distribution",
    sweep(["large-logits", "negative-logits", "minus-infinity-columns"], but=["negative-logits"]),
)
def test_sums_after_the_loop_are_right_for_any_scores(distribution: str, tmp_path: Path) -> None:
    assert_right(build(RAGGED, tmp_path, params=SMALL, row_sums="after-loop"), tmp_path, distribution)


@pytest.mark.sweep
def test_sums_stay_in_parts_from_one_loop_to_the_next(tmp_path: Path) -> None:
    shown = text(build(RAGGED, tmp_path, params=LARGE), tmp_path, "partial-sums")
    assert shown.count("scf.for %") == 2
    assert shown.count("partial}") + shown.count("partial,") == 2
    assert shown.count("gpu.subgroup_reduce") == 1
    assert "cluster(size = 4)" in shown


@pytest.mark.sweep
def test_a_total_that_every_step_divides_by_is_added_up_in_every_step(tmp_path: Path) -> None:
    artifact = build(RAGGED, tmp_path, params={"division": "every-step"})
    assert "gpu.subgroup_reduce" not in text(artifact, tmp_path, "partial-sums")


@pytest.mark.sweep
def test_q_is_read_again_in_each_loop(tmp_path: Path) -> None:
    artifact = build(RAGGED, tmp_path, params=LARGE, query_operand="shared-memory")
    before, after = (text(artifact, tmp_path, stage) for stage in ("staged", "read-again"))
    query = "memref<1x128x72xf16, #gpu.address_space<workgroup>>, vector<128x64xf16>"
    reads = [
        [line for line in shown.splitlines() if query in line and "transfer_read" in line]
        for shown in (before, after)
    ]
    assert [len(lines) for lines in reads] == [1, 2]
    assert all(line.startswith(" " * 8) for line in reads[1])


@problems
@pytest.mark.parametrize(
    ("option", "choices", "stage", "instruction"),
    sweep(
        [
            ("operand_loads", ("one-step", "several-steps"), "loads-by-step", "numTiles = 4"),
            ("product_order", ("by-step", "by-fragment"), "products-by-step", "nvvm.mma.sync"),
        ],
        but=[("operand_loads", ("one-step", "several-steps"), "loads-by-step", "numTiles = 4")],
    ),
)
def test_loads_and_products_by_step_are_as_many_and_right(
    problem: AttentionProblem,
    option: str,
    choices: tuple[str, str],
    stage: str,
    instruction: str,
    tmp_path: Path,
) -> None:
    texts = []
    for choice in choices:
        folder = tmp_path / choice
        artifact = build(problem, folder, params=LARGE, **{option: choice})
        assert artifact.metrics.bank_conflicts == 0
        assert (stage in artifact.stage_files) == (choice == choices[0])
        last = "just-in-time" if "just-in-time" in artifact.stage_files else "distributed"
        texts.append(text(artifact, folder, last))
        assert_right(artifact, folder)
    assert texts[0].count(instruction) == texts[1].count(instruction) > 0
    assert texts[0] != texts[1]


@pytest.mark.parametrize(
    ("problem", "variant", "params"),
    sweep(
        [(RAGGED, "flash", LARGE), (TOKENS, "varlen", LARGE), (TOKENS, "varlen", {**LARGE, "page_size": 64})],
        but=[(TOKENS, "varlen", {**LARGE, "page_size": 64})],
    ),
)
def test_copies_behind_scores_find_their_page_looked_up_and_are_right(
    problem: AttentionProblem, variant: str, params: dict, tmp_path: Path
) -> None:
    artifact = build(problem, tmp_path, variant, params=params, copies="behind-scores")
    staged = text(artifact, tmp_path, "staged").splitlines()
    loop = staged[next(number for number, line in enumerate(staged) if "cp.async.wait" in line) :]
    loop = loop[next(number for number, line in enumerate(loop) if "iter_args" in line and "xf32>" in line) :]
    wait, scores, copy = (
        next(number for number, line in enumerate(loop) if word in line)
        for word in ("cp.async.wait", "vector.contract", "transfer_write")
    )
    assert wait < scores < copy
    looked_up = [number for number, line in enumerate(loop[:copy]) if "memref.load" in line]
    assert any(number < wait for number in looked_up) == ("page_size" in params)
    assert_right(artifact, tmp_path)


def test_each_step_of_a_product_comes_after_the_loads_for_it_alone(tmp_path: Path) -> None:
    artifact = build(CROSS, tmp_path, params=LARGE, product_order="by-step", operand_loads="one-step")
    shown = text(artifact, tmp_path, "just-in-time").splitlines()
    loop = shown[next(number for number, line in enumerate(shown) if "scf.for" in line) :]
    products = [number for number, line in enumerate(loop) if "nvvm.mma.sync" in line]
    loads = [number for number, line in enumerate(loop) if "nvgpu.ldmatrix" in line]
    scores = 2 * 8 * 8  # bands, fragments of 64 keys, steps of head_dim 128
    of_scores = [number for number in loads if number < products[scores]]
    before_first = [number for number in of_scores if number < products[0]]
    assert len(before_first) == 2  # 16 rows of Q, and 16 keys
    for step in range(1, 8):
        start, end = products[scores // 8 * step - 1], products[scores // 8 * (step + 1) - 1]
        assert sum(start < number < end for number in of_scores) == 2 + 4  # Q for two bands, 64 keys


@pytest.mark.sweep
def test_one_slot_each_takes_half_the_memory(tmp_path: Path) -> None:
    sizes = []
    for slots in (1, 2):
        folder = tmp_path / str(slots)
        artifact = build(RAGGED, folder, params=SMALL, staging_slots=slots)
        assert f"memref<{slots}x64x72xf16" in text(artifact, folder, "staged")
        sizes.append(artifact.launch["kernels"][0]["shared_bytes"])
    assert sizes[0] * 2 == sizes[1]
