"""IREE's programs, and what they say when they refuse."""

import pytest

from harness.system.errors import BuildError
from harness.system.processes.programs import first_error
from harness.system.toolchains.iree import IreeTools, tools_folder


def test_the_programs_are_in_the_installed_package():
    assert {"iree-compile", "iree-opt", "iree-lld"} <= {path.name for path in tools_folder().iterdir()}


def test_an_error_is_one_line_without_its_position(tmp_path):
    source = tmp_path / "input.mlir"
    source.write_text("func.func @f() -> tensor<2xf32> { return }")
    with pytest.raises(BuildError) as caught:
        IreeTools().run("iree-opt", [source])
    assert str(caught.value).startswith("iree-opt: ")
    assert "operands" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("diagnostics", "expected"),
    [
        ("<stdin>:4:8: error: no such op\n  more\nb: error: second", "no such op"),
        ("iree-compile: Assertion failed\nStack dump:\n", "iree-compile: Assertion failed (exit status -6)"),
        ("", "no diagnostics (exit status -6)"),
    ],
)
def test_first_error_is_one_line_whatever_the_compiler_wrote(diagnostics, expected):
    assert first_error(diagnostics, -6) == expected
