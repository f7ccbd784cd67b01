"""The table of main loops in docs/layouts.md: what our kernels have, and IREE's for the same problem."""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from main_loops import counted
from sweeps import sweep

from harness import plugins
from harness.artifact.artifact import Artifact
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.targets.gpu.workgroup import Workgroup
from harness.targets.rocm.chips import CHIPS
from harness.targets.rocm.vendor import amd_vendor

PAGE = Path(__file__).parents[3] / "docs" / "layouts.md"
ROW = re.compile(r"^\| (gfx\w+), (\d+) \|(.*)\|$", re.MULTILINE)
KIB = 1024


@dataclass(frozen=True)
class Loop:
    """What the page says of one of two loops."""

    registers: int
    shared_kib: float
    others: int


@dataclass(frozen=True)
class Row:
    """A row of the table."""

    chip: str
    head_dim: int
    rows_of_wave: int
    ours: Loop
    iree: Loop
    of_row_and_key: float

    def problem(self) -> AttentionProblem:
        return AttentionProblem(heads=8, seq_q=1024, head_dim=self.head_dim, dtype="f16")


def table() -> list[Row]:
    rows = []
    for chip, head_dim, rest in ROW.findall(PAGE.read_text(encoding="utf-8")):
        registers, shared, _, rows_of_wave, _, others, of_row_and_key = (
            [re.split(r"[ ,]", side.strip())[0] for side in cell.split("/")] for cell in rest.split("|")
        )
        ours, iree = (Loop(int(registers[side]), float(shared[side]), int(others[side])) for side in range(2))
        rows.append(Row(chip, int(head_dim), int(rows_of_wave[0]), ours, iree, float(of_row_and_key[0])))
    return rows


TABLE = table()


def built(row: Row, variant: str, folder: Path) -> tuple[Artifact, int]:
    """Return an artifact, and how many instructions of its main loop are no matrix instructions."""
    case = Case(problem=row.problem(), variant=variant, target=f"rocm:{row.chip}")
    artifact = plugins.variant(variant).build(case, "key", folder)
    file = artifact.stage_files["assembly"]
    return artifact, counted((folder / file).read_text())[1]


def test_the_table_has_every_chip() -> None:
    assert [(row.chip, row.head_dim) for row in TABLE] == [
        (chip, size) for chip in CHIPS for size in (64, 128)
    ]


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row.chip}-{row.head_dim}")
def test_no_loop_of_ours_has_more_instructions_beside_products_than_that_of_iree(row: Row) -> None:
    assert row.ours.others <= row.iree.others
    assert row.of_row_and_key == pytest.approx(row.ours.others / row.rows_of_wave / 64, abs=0.0051)


@pytest.mark.parametrize("row", sweep(TABLE, but=[TABLE[8]]), ids=lambda row: f"{row.chip}-{row.head_dim}")
def test_our_loops_are_as_the_table_says(row: Row, tmp_path: Path) -> None:
    artifact, others = built(row, "flash", tmp_path)
    found = Loop(artifact.metrics.registers or 0, (artifact.metrics.shared_bytes or 0) / KIB, others)
    assert found == row.ours
    assert Workgroup(amd_vendor(row.chip), row.problem()).sizes.query == row.rows_of_wave * 4


@pytest.mark.parametrize("row", sweep(TABLE, but=[TABLE[2]]), ids=lambda row: f"{row.chip}-{row.head_dim}")
def test_the_loops_of_iree_are_as_the_table_says(row: Row, tmp_path: Path) -> None:
    artifact, others = built(row, "iree", tmp_path)
    found = Loop(artifact.metrics.registers or 0, (artifact.metrics.shared_bytes or 0) / KIB, others)
    assert found == row.iree
