"""SPIR-V by llvmlite: what is emitted, and what is refused."""

import re
import struct

import pytest

from harness.system.errors import BuildError
from harness.system.toolchains import intel
from harness.system.toolchains.intel import TEXT, WORDS, defines_each_once
from harness.system.toolchains.spirv_words import capabilities, defined_ids, imports

KERNEL = f"""
target datalayout = "{intel.data_layout()}"
target triple = "{intel.TRIPLE}"
define spir_kernel void @kernel(ptr addrspace(1) %data) {{
  %value = load <8 x float>, ptr addrspace(1) %data, align 32
  %twice = fadd <8 x float> %value, %value
  store <8 x float> %twice, ptr addrspace(1) %data, align 32
  ret void
}}
"""
MAGIC = 0x07230203


def test_a_module_is_emitted_as_text_and_as_words() -> None:
    text, words = intel.assembly(KERNEL), intel.binary(KERNEL)
    assert "OpEntryPoint Kernel" in text
    assert "OpFAdd" in text
    assert int.from_bytes(words[:4], "little") == MAGIC
    assert len(words) % 4 == 0


def test_the_ids_of_a_module_are_those_of_its_text() -> None:
    text = re.findall(r"^\s*%(\d+) =", intel.assembly(KERNEL), re.MULTILINE)
    assert sorted(defined_ids(intel.binary(KERNEL))) == sorted(map(int, text))


CALLING = f"""
target datalayout = "{intel.data_layout()}"
target triple = "{intel.TRIPLE}"
declare spir_func i64 @_Z12get_local_idj(i32)
declare spir_func float @_Z5twicef(float)
declare spir_func void @_Z4donev()
define spir_kernel void @kernel(ptr addrspace(1) %data) {{
  %lane = call spir_func i64 @_Z12get_local_idj(i32 0)
  %place = getelementptr float, ptr addrspace(1) %data, i64 %lane
  %value = load float, ptr addrspace(1) %place
  %twice = call spir_func float @_Z5twicef(float %value)
  store float %twice, ptr addrspace(1) %place
  call spir_func void @_Z4donev()
  ret void
}}
"""
KERNEL_CAPABILITY, SHADER_CAPABILITY = 6, 1


def test_what_a_module_imports_are_functions_and_no_variables() -> None:
    """A number of a lane is a variable for SPIR-V, which is imported as well."""
    image = intel.binary(CALLING)
    assert imports(image) == ["_Z5twicef", "_Z4donev"]
    assert imports(intel.binary(KERNEL)) == []


def test_a_module_says_which_capabilities_it_needs() -> None:
    found = capabilities(intel.binary(KERNEL))
    assert KERNEL_CAPABILITY in found
    assert SHADER_CAPABILITY not in found


def relabelled(image: bytes) -> bytes:
    """Give the first label of a module the number of its first type."""
    words = list(struct.unpack(f"<{len(image) // 4}I", image))
    label = next(at for at, word in enumerate(words) if at >= 5 and word == 2 << 16 | 248)
    words[label + 1] = next(iter(defined_ids(image)))
    return struct.pack(f"<{len(words)}I", *words)


class Machine:
    """Emits modules with a wrong number so many times."""

    def __init__(self, wrong: int) -> None:
        self.wrong = wrong
        self.right = intel.binary(KERNEL)
        self.text = intel.assembly(KERNEL)

    def emit_assembly(self, module: object) -> str:
        self.wrong -= 1
        (label,) = re.findall(r"(%\d+) = OpLabel", self.text)
        other = re.findall(r"(%\d+) = OpType", self.text)[0]
        return self.text.replace(f"{label} =", f"{other} =") if self.wrong >= 0 else self.text

    def emit_object(self, module: object) -> bytes:
        self.wrong -= 1
        return relabelled(self.right) if self.wrong >= 0 else self.right


def test_a_number_that_is_given_twice_is_noticed() -> None:
    image = intel.binary(KERNEL)
    assert defines_each_once(image, WORDS)
    assert not defines_each_once(relabelled(image), WORDS)


def test_a_module_is_emitted_until_its_numbers_are_right(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(wrong=2)
    monkeypatch.setattr(intel, "_machine", lambda: machine)
    assert intel.binary(KERNEL) == machine.right
    machine.wrong = intel.ATTEMPTS
    assert defines_each_once(intel.binary(KERNEL), WORDS)
    monkeypatch.setattr(intel, "_emitted_elsewhere", lambda llvm_ir, form: relabelled(machine.right))
    machine.wrong = intel.ATTEMPTS
    with pytest.raises(BuildError, match="two values of a module one number, 15 times"):
        intel.binary(KERNEL)


@pytest.mark.parametrize("form", [TEXT, WORDS])
def test_a_process_of_its_own_emits_the_same_module(form: str) -> None:
    here, elsewhere = intel.emitted(KERNEL, form), intel._emitted_elsewhere(KERNEL, form)
    assert len(elsewhere) == len(here)
    assert defines_each_once(elsewhere, form)


LOOP_FROM_A_REMAINDER = f"""
target datalayout = "{intel.data_layout()}"
target triple = "{intel.TRIPLE}"
declare spir_func i64 @_Z12get_group_idj(i32)
define spir_kernel void @kernel(ptr addrspace(1) %data) {{
  %group = call spir_func i64 @_Z12get_group_idj(i32 0)
  %remainder = urem i64 %group, 2
  %start = mul nsw i64 %remainder, 128
  %end = add i64 %start, 128
  br label %loop
loop:
  %at = phi i64 [ %start, %0 ], [ %next, %body ]
  %goes_on = icmp slt i64 %at, %end
  br i1 %goes_on, label %body, label %done
body:
  %cut = trunc i64 %at to i32
  store i32 %cut, ptr addrspace(1) %data, align 4
  %next = add i64 %at, 32
  br label %loop
done:
  ret void
}}
"""


@pytest.mark.sweep
def test_numbers_that_are_wrong_every_other_time_come_out_right() -> None:
    for _ in range(10):
        text = re.findall(r"^\s*(%\d+) =", intel.assembly(LOOP_FROM_A_REMAINDER), re.MULTILINE)
        assert len(set(text)) == len(text)
        assert defines_each_once(intel.binary(LOOP_FROM_A_REMAINDER), WORDS)


def test_integers_of_different_widths_are_not_mixed() -> None:
    text = intel.assembly(LOOP_FROM_A_REMAINDER)
    types = dict(re.findall(r"(%\d+) = Op\w+ (%\d+)", text))
    operations = re.findall(r"Op(?:BitwiseAnd|UMod|IAdd|IMul) (%\d+) (%\d+) (%\d+)", text)
    assert operations
    assert [one for one in operations if {types[value] for value in one[1:]} != {one[0]}] == []


def test_code_that_is_not_valid_is_refused_with_llvms_words() -> None:
    with pytest.raises(BuildError, match=r"LLVM refuses the code: .*use of undefined value"):
        intel.binary(KERNEL.replace("%value, %value", "%value, %other"))


@pytest.mark.parametrize("components", [5, 32])
def test_vectors_that_kernels_cannot_have_are_refused(components: int) -> None:
    intel.require_valid("%3 = OpTypeVector %2 16\n%4 = OpTypeVector %2 3")
    with pytest.raises(BuildError, match=f"a vector of {components} components"):
        intel.require_valid(f"%3 = OpTypeVector %2 16\n%4 = OpTypeVector %2 {components}")
