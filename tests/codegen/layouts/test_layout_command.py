"""`harness layout`: what it prints, draws and refuses."""

from pathlib import Path

import pytest
from sweeps import sweep
from typer.testing import CliRunner

from harness.cli.commands import app
from harness.codegen.layouts.instructions.registry import INSTRUCTIONS
from harness.codegen.layouts.show import show_layout
from harness.system.errors import InputError


def test_an_operand_is_shown_with_dimensions_formulas_and_owners() -> None:
    shown = CliRunner().invoke(app, ["layout", "mma.sync.m16n8k16", "a"])
    assert shown.exit_code == 0
    assert "A, 16×16: row = vec_z 2, lane_y 8; column = vec_y 2, lane_x 4, vec_x 2" in shown.output
    assert "  column = vx + 2·lx + 8·vy" in shown.output
    assert " 0   0  0  1  1  2  2  3  3  0  0  1  1  2  2  3  3" in shown.output
    assert "B, " not in shown.output


def test_the_accumulator_of_a_wide_mfma_is_the_table_of_the_instruction_set() -> None:
    """MI300 ISA, "Matrix Arithmetic Instructions": a lane has a column, both halves take turns of 4 rows."""
    shown = CliRunner().invoke(app, ["layout", "mfma.f32.32x32x8.f16", "C", "--registers"]).output
    assert [line.split()[1:] for line in shown.rstrip().splitlines()[-32:]] == [
        [f"{column + 32 * (row // 4 % 2)}:{row % 4 + 4 * (row // 8)}" for column in range(32)]
        for row in range(32)
    ]


def test_instructions_are_listed_with_their_source() -> None:
    lines = CliRunner().invoke(app, ["layout"]).output.splitlines()
    assert [line.split()[0] for line in lines] == [known.name for known in INSTRUCTIONS]
    assert "PTX ISA" in lines[0]


@pytest.mark.parametrize("suffix", sweep([".png", ".svg", ".pdf"], but=[".svg"]))
def test_tables_are_drawn(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"layout{suffix}"
    show_layout("mma.sync.m16n8k16", None, registers=True, figure=file)
    assert file.stat().st_size > 1000


@pytest.mark.parametrize(
    ("name", "operand", "figure", "message"),
    [
        ("mma.sync.m8n8k4", None, None, "no matrix instruction 'mma.sync.m8n8k4': expected one of mma.sync"),
        ("mma.sync.m16n8k16", "D", None, "no operand 'D': expected one of A, B, C"),
        ("mma.sync.m16n8k16", "A", "layout.txt", "expected a file that ends in .png, .svg, .pdf"),
        ("mma.sync.m16n8k16", "A", "nowhere/layout.png", "nowhere/layout.png: No such file"),
    ],
)
def test_bad_input_is_refused(name: str, operand: str | None, figure: str | None, message: str) -> None:
    with pytest.raises(InputError) as error:
        show_layout(name, operand, registers=False, figure=None if figure is None else Path(figure))
    assert message in str(error.value)
