"""LLVM IR of newer compilers, spelled for the LLVM of this environment."""

import math

import llvmlite.binding as llvm
import ml_dtypes
import numpy as np
import pytest
from hand_written import FOLDER
from hypothesis import given
from hypothesis import strategies as st

from harness.emulator.llvm_text import readable_by_llvm_22, tokens

CHARACTERS = st.text(st.sampled_from("%@!#;\"'.,:=(){}<>[]-+ \t\n0123456789abcefxHRinf_$é\x85\u2028"))
TYPES = {"half": np.float16, "bfloat": ml_dtypes.bfloat16, "float": np.float32, "double": np.float64}
WIDTHS = {element: 8 * np.dtype(kind).itemsize for element, kind in TYPES.items()}
elements = pytest.mark.parametrize("element", TYPES)


@given(CHARACTERS)
def test_the_tokens_of_any_text_are_the_text(text):
    assert "".join(token.text for token in tokens(text)) == text


def test_spelling_twice_changes_nothing_more():
    for file in FOLDER.glob("*.ll"):
        text = file.read_text(encoding="utf-8")
        assert "".join(token.text for token in tokens(text)) == text
        once = readable_by_llvm_22(text)
        assert readable_by_llvm_22(once) == once


# ------------------------------------------------------------------ constants


def bits_in_llvm(element: str, constant: str) -> int:
    """Return the bits that LLVM reads a constant as, once it is spelled for it."""
    spelled = readable_by_llvm_22(f"ret {element} {constant}").split()[-1]
    width = WIDTHS[element]
    function = f"define i{width} @f() {{\n  ret i{width} bitcast ({element} {spelled} to i{width})\n}}"
    (line,) = [line for line in str(llvm.parse_assembly(function)).splitlines() if "ret" in line]
    return int(line.split()[-1]) % 2**width


def bits_of(element: str, value: float) -> int:
    with np.errstate(over="ignore"):
        return int(np.array(value).astype(TYPES[element]).view(f"u{WIDTHS[element] // 8}"))


@elements
@given(data=st.data())
def test_decimals_become_the_nearest_number_s_bits(element, data):
    """Decimals are as LLVM prints them: 1.802980e-01."""
    digits, sign = data.draw(st.integers(10**6, 10**7 - 1)), data.draw(st.sampled_from(["", "-"]))
    largest = {"half": 3, "bfloat": 37, "float": 37, "double": 99}[element]
    exponent = data.draw(st.integers(-50, largest))
    decimal = f"{sign}{digits // 10**6}.{digits % 10**6:06d}e{exponent:+03d}"
    assert bits_in_llvm(element, decimal) == bits_of(element, float(decimal))


@elements
@given(data=st.data())
def test_constants_given_by_their_bits_keep_them(element, data):
    width = WIDTHS[element]
    number = data.draw(st.integers(0, 2**width - 1))
    value = np.array(number, f"u{width // 8}").view(TYPES[element])
    with np.errstate(invalid="ignore"):
        is_number = not np.isnan(value)
    if is_number:  # payloads of others are not kept by a conversion to double
        assert bits_in_llvm(element, f"f0x{number:0{width // 4}X}") == number


@elements
def test_infinities_in_words(element):
    assert bits_in_llvm(element, "+inf") == bits_of(element, math.inf)
    assert bits_in_llvm(element, "-inf") == bits_of(element, -math.inf)


@pytest.mark.parametrize("word", ["+qnan", "-qnan", "+nan"])
def test_words_for_no_number(word):
    bits = bits_in_llvm("float", word)
    assert np.isnan(np.array(bits, np.uint32).view(np.float32))
    assert bits >> 31 == int(word.startswith("-"))


def test_a_nan_with_a_payload_keeps_it():
    assert bits_in_llvm("bfloat", "+nan(0x3F)") == 0x7FFF
    assert bits_in_llvm("half", "-nan(0x1)") == 0xFE01


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("%x = fmul <8 x half> %a, splat (half 1.5)", "%x = fmul <8 x half> %a, splat (half 0xH3E00)"),
        (
            "store <2 x bfloat> <bfloat 1.0, bfloat -2.0>, ptr %p",
            "store <2 x bfloat> <bfloat 0xR3F80, bfloat 0xRC000>, ptr %p",
        ),
        ("%p = phi half [ 1.0, %a ], [ %q, %b ]", "%p = phi half [ 0xH3C00, %a ], [ %q, %b ]"),
        (
            "call void @f(half 1.0, i32 7, float 0.5)",
            "call void @f(half 0xH3C00, i32 7, float 0x3FE0000000000000)",
        ),
        (
            "%e = insertelement <2 x half> %v, half 2.0, i32 1",
            "%e = insertelement <2 x half> %v, half 0xH4000, i32 1",
        ),
        ("%c = fcmp oeq float %x, -inf", "%c = fcmp oeq float %x, 0xFFF0000000000000"),
        # a type counts until the end of its line
        ("%x = fadd half %a, %b\n%version = 1.5", "%x = fadd half %a, %b\n%version = 1.5"),
        *(
            (line, line)
            for line in (
                "; half 1.5, and llvm.amdgcn.s.barrier",
                '@text = constant [8 x i8] c"half 1.5"',
                "%half.1.5 = add i32 %a.2.0, 17",
                "!0 = !{i32 1, i32 2}",
                "%x = fadd float %y, 0x3FE0000000000000",
                "%x = fadd half %y, 0xH3C00",
                "%r = call float @llvm.exp2.f32(float %x)",
                "switch i32 %i, label %d [ i32 -1, label %a ]",
                "br label %146",
            )
        ),
        # names, attributes, triples
        ("call void @llvm.amdgcn.s.barrier()", "call void @device.llvm.amdgcn.s.barrier()"),
        (
            "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()",
            "declare i32 @device.llvm.nvvm.read.ptx.sreg.tid.x()",
        ),
        ("declare void @f(i32 immarg)", "declare void @f(i32 )"),
        ("define void @f() nounwind denormal_fpenv(float: preservesign) {", "define void @f() nounwind {"),
        (
            "attributes #0 = { a(b(c)) denormal_fpenv(x(y), z) nounwind }",
            "attributes #0 = { a(b(c)) nounwind }",
        ),
        ("declare void @f() nocreateundeforpoison nounwind", "declare void @f() nounwind"),
        ('target triple = "amdgpu9.42-amd-amdhsa"', 'target triple = "amdgcn-amd-amdhsa"'),
        ('target triple = "amdgpu11.00-amd-amdhsa"', 'target triple = "amdgcn-amd-amdhsa"'),
        ('target triple = "nvptx64-nvidia-cuda"', 'target triple = "nvptx64-nvidia-cuda"'),
        ('source_filename = "amdgpu11.00-amd-amdhsa"', 'source_filename = "amdgpu11.00-amd-amdhsa"'),
    ],
)
def test_lines_are_spelled_for_this_llvm(line, expected):
    assert readable_by_llvm_22(line).split() == expected.split()
