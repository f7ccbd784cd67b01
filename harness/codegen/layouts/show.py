"""What `harness layout` prints."""

from pathlib import Path

from harness.codegen.layouts.figure import save_figure
from harness.codegen.layouts.formulas import describe
from harness.codegen.layouts.instructions.registry import INSTRUCTIONS, instruction
from harness.codegen.layouts.matrix_instruction import OPERANDS, MatrixInstruction
from harness.codegen.layouts.table import owner_table
from harness.system.errors import InputError
from harness.system.storage.reading import refusals_told

SUFFIXES = (".png", ".svg", ".pdf")


def show_instructions() -> str:
    """Return a line for each matrix instruction."""
    width = max(len(matrix_instruction.name) for matrix_instruction in INSTRUCTIONS)
    return "\n".join(
        f"{matrix_instruction.name:<{width}}  {_summary(matrix_instruction)}"
        for matrix_instruction in INSTRUCTIONS
    )


def show_layout(name: str, operand: str | None, *, registers: bool, figure: Path | None) -> str:
    """Return dimensions, formulas and table of lane owners of an instruction's operand, or of all three.

    With `figure` the tables are also drawn into that file.  Raises `InputError` for an unknown name.
    """
    chosen = instruction(name)
    if operand is not None and operand.upper() not in OPERANDS:
        raise InputError(f"no operand {operand!r}: expected one of {', '.join(OPERANDS)}")
    letters = [operand.upper()] if operand is not None else list(OPERANDS)
    if figure is not None:
        _draw(chosen, letters, figure, registers)
    parts = [f"{chosen.name}  {_summary(chosen)}", *(_part(chosen, letter, registers) for letter in letters)]
    return "\n\n".join(parts)


def _summary(chosen: MatrixInstruction) -> str:
    return (
        f"C + A·Bᵀ: A m×k {chosen.m}×{chosen.k} and B n×k {chosen.n}×{chosen.k} {chosen.operand}, "
        f"C m×n {chosen.m}×{chosen.n} {chosen.accumulator}, {chosen.lanes} lanes; {chosen.source}"
    )


def _part(chosen: MatrixInstruction, letter: str, registers: bool) -> str:
    layout = chosen.operand_layout(letter)
    rows, columns = layout.shape
    heading = f"{letter}, {rows}×{columns}: {layout}"
    legend = "lane:register of each element" if registers else "lane of each element"
    formulas = [f"  {line}" for line in describe(layout)]
    return "\n".join([heading, *formulas, f"{legend}:", owner_table(layout, registers=registers)])


def _draw(chosen: MatrixInstruction, letters: list[str], figure: Path, registers: bool) -> None:
    if figure.suffix not in SUFFIXES:
        raise InputError(f"--figure {figure}: expected a file that ends in {', '.join(SUFFIXES)}")
    titles = {f"{letter} of {chosen.name}": chosen.operand_layout(letter) for letter in letters}
    with refusals_told(f"--figure {figure}"):
        save_figure(titles, figure, registers=registers)
