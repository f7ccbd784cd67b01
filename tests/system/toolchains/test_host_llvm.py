"""Assembly of this machine as object files."""

import llvmlite.binding as llvm
import pytest

from harness.system.toolchains.host_llvm import assemble
from harness.targets.cpu.chip import chip
from harness.targets.cpu.object_code import target_machine

MODULES = {
    "a constant and a call": """
        declare float @sinf(float)
        define float @f(float %x) {
          %y = call float @sinf(float %x)
          %z = fadd float %y, 0.125
          ret float %z
        }""",
    "a name in quotes": 'define i32 @"a \\22b\\22 c"(i32 %x) { ret i32 %x }',
    "text that looks like an escape": """
        @text = constant [5 x i8] c"\\\\09\\22\\00"
        define ptr @g() { ret ptr @text }""",
}

LOADED = (b".ltext", b".text", b".lrodata", b".rodata", b".data")


def loaded(object_file: bytes) -> dict[bytes, bytes]:
    """Code and constants; symbols have other numbers, since LLVM names the file in one case only."""
    opened = llvm.ObjectFileRef.from_data(object_file)
    return {
        section.name(): bytes(section.data())
        for section in opened.sections()
        if section.name() and section.name().startswith(LOADED)
    }


@pytest.mark.parametrize("llvm_ir", MODULES.values(), ids=MODULES)
def test_the_code_is_that_of_the_object_file_that_llvm_emits(llvm_ir):
    machine = target_machine(chip("host"))
    module = llvm.parse_assembly(llvm_ir)
    emitted = machine.emit_object(module.clone())
    assembled = assemble(machine.emit_assembly(module), machine)
    assert loaded(emitted)[b".ltext"]
    assert loaded(assembled) == loaded(emitted)
