"""SPIR-V by llvmlite: what is emitted, and what is refused."""

import pytest

from harness.errors import BuildError
from harness.toolchains import intel

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


def test_one_module_after_another_is_emitted() -> None:
    assert intel.binary(KERNEL) == intel.binary(KERNEL)


def test_no_more_extensions_are_declared_than_a_module_needs() -> None:
    assert "OpExtension" not in intel.assembly(KERNEL)


def test_code_that_is_not_valid_is_refused_with_llvms_words() -> None:
    with pytest.raises(BuildError, match=r"LLVM refuses the code: .*use of undefined value"):
        intel.binary(KERNEL.replace("%value, %value", "%value, %other"))


@pytest.mark.parametrize("components", [5, 32])
def test_vectors_that_kernels_cannot_have_are_refused(components: int) -> None:
    intel.require_valid("%3 = OpTypeVector %2 16\n%4 = OpTypeVector %2 3")
    with pytest.raises(BuildError, match=f"a vector of {components} components"):
        intel.require_valid(f"%3 = OpTypeVector %2 16\n%4 = OpTypeVector %2 {components}")
