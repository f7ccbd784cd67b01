"""The variants' kernels for AMD's GPUs: built, executed by the emulator, and compared with the oracle."""

import re

import pytest
from emulated_runs import assert_right_on_emulator, built
from main_loops import counted, main_loop
from sweeps import sweep

from harness.problem.attention_problem import AttentionProblem
from harness.targets.rocm.chips import CHIPS
from harness.targets.rocm.code_object import CODE_OBJECT_FILE
from harness.targets.rocm.vendor import matrix_instructions

SMALL = AttentionProblem(heads=1, seq_q=64, head_dim=32, dtype="f16")
WHOLE = AttentionProblem(heads=1, seq_q=256, head_dim=64, dtype="f16")


def test_single_precision_has_an_instruction_on_cdna() -> None:
    artifact, folder = built(SMALL.model_copy(update={"dtype": "f32"}), "rocm:gfx942")
    assert artifact.metrics.intrinsics == "v_mfma_f32_16x16x4_f32"
    assert_right_on_emulator(artifact, folder)


@pytest.mark.parametrize(("queries", "waves"), sweep([(1, 1), (33, 2)], but=[(33, 2)]))
def test_few_queries_have_few_waves(queries: int, waves: int) -> None:
    problem = AttentionProblem(heads=2, seq_q=queries, seq_kv=150, head_dim=32, dtype="f16", causal=True)
    assert built(problem, "rocm:gfx942")[0].metrics.workgroup_size == 64 * waves


@pytest.mark.parametrize(
    ("chip", "head_dim", "heads", "queries"),
    sweep(
        [
            (chip, head_dim, heads, queries)
            for chip in ("gfx942", "gfx950", "gfx1100")
            for head_dim in (64, 128)
            for heads, queries in ((1, 256), (1, 333), (8, 1024), (32, 4096))
            if (chip, head_dim, queries) != ("gfx1100", 128, 333)
        ],
        but=[("gfx1100", 64, 1, 333)],
    ),
)
def test_causal_flash_keeps_everything_in_registers(
    chip: str, head_dim: int, heads: int, queries: int
) -> None:
    problem = AttentionProblem(heads=heads, seq_q=queries, head_dim=head_dim, dtype="f16", causal=True)
    metrics = built(problem, f"rocm:{chip}")[0].metrics
    assert (metrics.spills, metrics.scratch_bytes, metrics.instructions.get("local", 0)) == (0, 0, 0)


@pytest.mark.parametrize("chip", sweep(CHIPS, but=["gfx1201"]))
def test_flash_spills_nothing_and_its_metadata_say_how_it_is_launched(chip: str) -> None:
    artifact, folder = built(WHOLE, f"rocm:{chip}")
    assembly = (folder / artifact.stage_files["assembly"]).read_text()
    (kernel,) = artifact.launch["kernels"]
    assert (artifact.metrics.spills, artifact.metrics.scratch_bytes) == (0, 0)
    assert (artifact.metrics.scalar_registers or 0) > 0
    assert f".wavefront_size: {CHIPS[chip].wave_size}" in assembly
    assert f".kernarg_segment_size: {8 * len(kernel['buffers'])}\n" in assembly
    assert f".max_flat_workgroup_size: {kernel['threads']}\n" in assembly
    assert 0 < artifact.metrics.shared_bytes == kernel["shared_bytes"]
    assert 0 < (artifact.metrics.occupancy or 0) <= 1


@pytest.mark.parametrize(
    ("chip", "head_dim"),
    sweep(
        [(chip, head_dim) for chip in CHIPS for head_dim in (64, 128)],
        but=[("gfx950", 64)],
    ),
)
def test_the_lanes_of_flash_never_wait_for_a_bank(chip: str, head_dim: int) -> None:
    problem = AttentionProblem(heads=1, seq_q=256, head_dim=head_dim, dtype="f16")
    # Behind the loop the words of results that gfx1100 holds lie two apart: those are left out here.
    options = {"output_stores": "direct"} if chip == "gfx1100" else {}
    artifact, folder = built(problem, f"rocm:{chip}", options=options)
    assert artifact.metrics.bank_conflicts == 0
    assert (artifact.metrics.spills, artifact.metrics.instructions.get("local", 0)) == (0, 0)
    tile = matrix_instructions(CHIPS[chip])["f16"]
    assert artifact.metrics.instructions["matrix"] == 2 * (64 // tile.n) * head_dim // tile.k
    assert "ds_read_u16" not in (folder / artifact.stage_files["assembly"]).read_text()


def test_rows_of_512_bytes_leave_without_bank_conflicts() -> None:
    problem = AttentionProblem(heads=1, seq_q=64, head_dim=256, dtype="f16")
    artifact, folder = built(problem, "rocm:gfx942")
    assert "wide-stores" in artifact.stage_files
    assert (artifact.metrics.bank_conflicts, artifact.metrics.spills) == (0, 0)
    assert_right_on_emulator(artifact, folder)


@pytest.mark.parametrize(
    ("head_dim", "pages"),
    sweep([(64, {}), (64, {"page_size": 128}), (128, {}), (128, {"page_size": 128})], but=[(64, {})]),
)
def test_packed_rows_take_about_the_instructions_of_others(head_dim: int, pages: dict) -> None:
    starts = (0, 512, 1024)
    packed = {"cu_seqlens_q": starts, "cu_seqlens_kv": starts}
    counts = []
    for variant, lengths in (("varlen", packed), ("flash", {"batch": 2, "seq_q": 512})):
        problem = AttentionProblem(heads=8, head_dim=head_dim, dtype="f16", **lengths)
        artifact, folder = built(problem, "rocm:gfx942", variant, **(pages if variant == "varlen" else {}))
        counts.append(sum(counted((folder / artifact.stage_files["assembly"]).read_text())))
    assert counts[0] <= 1.1 * counts[1]


def test_maxima_take_three_operands_that_nothing_has_quieted() -> None:
    artifact, folder = built(WHOLE, "rocm:gfx90a")
    assembly = (folder / artifact.stage_files["assembly"]).read_text()
    maxima = re.findall(r"v_max3?_f32\w* (.*)", main_loop(assembly))
    assert not any(operands.split(", ")[1] == operands.split(", ")[2] for operands in maxima)
    # 32 scores, what the other half of the wave has, and the maximum so far.
    assert len(maxima) <= 18


def test_code_moves_whole_registers_and_is_for_its_chip() -> None:
    artifact, folder = built(SMALL, "rocm:gfx1100")
    assert "v_mov_b16" not in (folder / artifact.stage_files["assembly"]).read_text()
    code = (folder / CODE_OBJECT_FILE).read_bytes()
    assert code[:4] == b"\x7fELF"
    assert b"gfx1100" in code


@pytest.mark.sweep
def test_rows_of_a_wave_exchange_statistics_without_lds() -> None:
    problem = AttentionProblem(heads=1, seq_q=128, head_dim=64, dtype="f16")
    for chip, uses_lds in (("gfx942", True), ("gfx1201", False)):
        artifact, folder = built(problem, f"rocm:{chip}")
        assembly = (folder / artifact.stage_files["assembly"]).read_text()
        assert ("ds_bpermute" in assembly) is uses_lds
        assert assembly.count("v_permlanex16_b32") == (0 if uses_lds else 2)


@pytest.mark.sweep
def test_q_stays_in_registers_where_lds_has_no_room_for_it() -> None:
    problem = AttentionProblem(heads=1, seq_q=64, seq_kv=75, head_dim=128, dtype="f16")
    kept, read_again = (built(problem, "rocm:gfx1100", variant)[0] for variant in ("naive", "flash"))
    assert "read-again" not in kept.stage_files
    assert "read-again" in read_again.stage_files
