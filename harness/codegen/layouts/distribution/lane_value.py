"""What a lane holds of a value."""

from dataclasses import dataclass

from mlir import ir
from mlir.dialects import vector

from harness.codegen.layouts.layout import Layout


@dataclass(frozen=True)
class LaneValue:
    """A value as one lane has it: a vector of registers for each fragment of its layout."""

    layout: Layout
    fragments: tuple[ir.Value, ...]

    @property
    def element_type(self) -> ir.Type:
        """Type of an element."""
        return self.fragments[0].type.element_type

    def element(self, fragment: int, register: int) -> ir.Value:
        """Return one element."""
        return vector.extract(self.fragments[fragment], [], [register])


def fragment_type(layout: Layout, element: ir.Type) -> ir.VectorType:
    """Return the type of a fragment."""
    return ir.VectorType.get([layout.registers], element)


def from_elements(elements: list[ir.Value]) -> ir.Value:
    """Return a fragment of these elements."""
    return vector.from_elements(ir.VectorType.get([len(elements)], elements[0].type), elements)
