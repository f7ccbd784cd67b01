"""Forms as their sources print them: the same operations, nested so, and loops that carry the same."""

import pytest
from mlir import ir

from harness.__main__ import main
from harness.codegen.dialect.context import mlir_context
from harness.codegen.ir.walk import functions_of
from harness.ir_view.named_schedules.registry import SCHEDULES

NOT_PRINTED = ("arith.constant", "affine.apply", "tensor.extract_slice", "tensor.empty", "linalg.fill")
"""Sources name what these make by the operand that it becomes: `SliceQ`, `Zeros1`."""


class Form:
    """The loops and operations of a block and of those within, each on a line, with its operands.

    An operand is an operation's number in its block, what a loop carries, or where a slice is taken from: at
    `i0`, the index of the outermost loop, say.
    """

    def __init__(self, block: ir.Block) -> None:
        self.lines: list[str] = []
        self.carried: list[list[str]] = []
        """For each loop, outermost first, the shapes that it carries."""
        self.steps: list[int] = []
        self._names: dict[ir.Value, str] = {}
        self._read(block, "")

    def _read(self, block: ir.Block, indent: str) -> None:
        number = 0
        for operation in block.operations:
            if operation.name in NOT_PRINTED:
                continue
            if operation.name == "scf.for":
                self._enter(operation)
            number += 1
            results = list(operation.results)
            self._names |= {
                result: f"{number}#{place}" if results[1:] else str(number)
                for place, result in enumerate(results)
            }
            operands = [value for value in operation.operands if isinstance(value.type, ir.RankedTensorType)]
            named = ", ".join(map(self._name, operands))
            place = self._place(operation) if operation.name == "tensor.insert_slice" else ""
            self.lines.append(f"{indent}{number} {operation.name}({named}{place})")
            if operation.name == "scf.for":
                self._read(operation.regions[0].blocks[0], indent + "  ")

    def _enter(self, loop: ir.OpView) -> None:
        index, *arguments = loop.regions[0].blocks[0].arguments
        self._names |= {argument: f"carried{place}" for place, argument in enumerate(arguments)}
        self._names[index] = f"i{len(self.carried)}"
        self.carried.append([str(argument.type) for argument in arguments])
        self.steps.append(ir.IntegerAttr(loop.operands[2].owner.attributes["value"]).value)

    def _name(self, value: ir.Value) -> str:
        if value in self._names:
            return self._names[value]
        if isinstance(value, ir.BlockArgument):
            return f"argument{value.arg_number}"
        made_by = value.owner.opview
        if made_by.name == "tensor.extract_slice":
            return self._name(made_by.operands[0]) + self._place(made_by)
        return {"linalg.fill": "fill", "tensor.empty": "empty"}[made_by.name]

    def _place(self, slicing: ir.OpView) -> str:
        indices = [self._name(value) for value in slicing.operands if isinstance(value.type, ir.IndexType)]
        return f"[{' '.join(indices)}]"


def form_of(name: str, **sizes: int) -> Form:
    text = SCHEDULES[name].record_stages(**sizes).texts["tiled"]
    with mlir_context():
        module = ir.Module.parse(text)
        (function,) = functions_of(module)
        return Form(function.entry_block)


def test_the_product_carries_its_whole_result_through_three_loops() -> None:
    form = form_of("matmul-published")
    assert form.lines == [
        "1 scf.for(argument2)",
        "  1 scf.for(carried0)",
        "    1 scf.for(carried0)",
        "      1 linalg.matmul(argument0[i0 i2], argument1[i2 i1], carried0[i0 i1])",
        "      2 tensor.insert_slice(1, carried0[i0 i1])",
        "      3 scf.yield(2)",
        "    2 scf.yield(1)",
        "  2 scf.yield(1)",
        "2 func.return(1)",
    ]
    assert form.carried == [["tensor<16x33xf32>"]] * 3
    assert form.steps == [2, 3, 4]


def test_flash_carries_all_maxima_totals_and_outputs_through_three_loops() -> None:
    form = form_of("flash-published")
    assert form.lines[:-2] == [
        "1 scf.for(fill, fill, fill)",
        "  1 scf.for(carried0, carried1, carried2)",
        "    1 scf.for(carried0, carried1, carried2)",
        "      1 attn.batch_matmul(argument0[i0 i2], argument1[i0 i1], fill)",
        "      2 attn.softmax(1, empty, carried0[i0 i2], carried1[i0 i2], empty)",
        "      3 attn.diag(2#3, empty)",
        "      4 attn.batch_matmul(3, carried2[i0 i2], fill)",
        "      5 attn.batch_matmul(2#0, argument2[i0 i1], 4)",
        "      6 tensor.insert_slice(2#1, carried0[i0 i2])",
        "      7 tensor.insert_slice(2#2, carried1[i0 i2])",
        "      8 tensor.insert_slice(5, carried2[i0 i2])",
        "      9 scf.yield(6, 7, 8)",
        "    2 scf.yield(1#0, 1#1, 1#2)",
        "  2 scf.yield(1#0, 1#1, 1#2)",
    ]
    assert form.lines[-2:] == ["2 linalg.generic(1#2, argument3)", "3 func.return(2)"]  # O is stored
    rows, output = "tensor<2x2x8xf32>", "tensor<2x2x8x4xf32>"
    assert form.carried == [[rows, rows, output]] * 3
    assert form.steps == [1, 4, 4]


@pytest.mark.parametrize(("name", "loop"), [("matmul", 2), ("flash-kv-outer", 0)])
def test_the_hoisted_forms_carry_less(name: str, loop: int) -> None:
    published = {"matmul": "matmul-published", "flash-kv-outer": "flash-published"}[name]
    assert form_of(name).carried[loop] != form_of(published).carried[loop]


def test_tiles_are_set_as_sizes_of_the_problem_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert form_of("flash-published", tile_batch=2, tile_q=2, tile_kv=6).steps == [2, 6, 2]
    command = ["ir", "matmul-published", "--stage", "tiled", "--set", "tile_depth=8", "--set", "rows=4"]
    assert main(command) == 0
    out = capsys.readouterr().out
    assert "tensor<4x33xf32>" in out
    assert "tensor<2x8xf32>" in out
