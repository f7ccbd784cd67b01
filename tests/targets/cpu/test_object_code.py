import pytest

from harness.system.errors import BuildError
from harness.targets.cpu.chip import chip
from harness.targets.cpu.object_code import emit_object, library_calls, spills

CALLING = """
declare float @{callee}(float)
define float @f(float %x) {{
  %y = call float @{callee}(float %x)
  ret float %y
}}
"""


def test_names_the_library_functions_that_code_calls():
    code = emit_object(CALLING.format(callee="sinf"), chip("host"))
    assert library_calls(code.assembly) == ["sinf"]


def test_code_that_calls_what_does_not_exist_is_refused():
    with pytest.raises(BuildError, match=r"calls no_such_function, which is not in this process"):
        emit_object(CALLING.format(callee="no_such_function"), chip("host"))


def test_spills_are_vector_registers_that_are_stored_on_the_stack():
    stored = "\tvmovups\t%ymm2, 288(%rsp)\n\tvmovaps\t%zmm0, (%rsp)\n\tvmovups\t%xmm1, -16(%rbp)\n"
    others = "\tvmovups\t288(%rsp), %ymm2\n\tvmovups\t%ymm2, 8(%rax)\n\tmovq\t%rax, 8(%rsp)\n"
    assert spills(stored + others) == 3


def test_malformed_ir_is_a_build_error():
    with pytest.raises(BuildError, match=r"^LLVM refuses the IR: .*$"):
        emit_object("define void @f( {", chip("host"))
