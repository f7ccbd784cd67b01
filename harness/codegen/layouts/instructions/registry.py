"""The matrix instructions of all vendors, by name."""

from harness.codegen.layouts.instructions import amd, intel, nvidia
from harness.codegen.layouts.matrix_instruction import MatrixInstruction, named

INSTRUCTIONS = (
    *nvidia.INSTRUCTIONS,
    *amd.INSTRUCTIONS,
    *amd.CHAINED_INSTRUCTIONS,
    *intel.INSTRUCTIONS,
)


def instruction(name: str) -> MatrixInstruction:
    """Return the instruction of a name; raises `InputError` naming those there are."""
    return named(INSTRUCTIONS, name)
