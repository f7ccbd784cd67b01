"""LLVM IR of newer compilers, spelled for the LLVM of this environment."""

import math
import struct
from pathlib import Path

import llvmlite.binding as llvm
import pytest
from hand_written import FOLDER
from hypothesis import given
from hypothesis import strategies as st

from harness.emulator.llvm_text import FLOAT_TYPES, bit_pattern, readable_by_llvm_22, tokens

CHARACTERS = st.text(st.sampled_from("%@!#;\"'.,:=(){}<>[]-+ \t\n0123456789abcefxHRinf_$é\x85\u2028"))


def decimals(largest_exponent: int) -> st.SearchStrategy[str]:
    """Draw decimal constants as LLVM prints them: 1.802980e-01."""
    return st.builds(
        lambda digits, exponent, sign: f"{sign}{digits // 10**6}.{digits % 10**6:06d}e{exponent:+03d}",
        st.integers(10**6, 10**7 - 1),
        st.integers(-50, largest_exponent),
        st.sampled_from(["", "-"]),
    )


def joined(text: str) -> str:
    return "".join(token.text for token in tokens(text))


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.ll")), ids=lambda file: file.stem)
def test_the_tokens_of_a_kernel_are_its_text(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert joined(text) == text


@given(CHARACTERS)
def test_the_tokens_of_any_text_are_the_text(text: str) -> None:
    assert joined(text) == text


# ------------------------------------------------------------------ constants


def rounded(element: str, value: float) -> int:
    """Return the bits of a number in a type, without NumPy."""
    if element == "bfloat":
        return rounded_to_bfloat(value)
    code = {"half": "e", "float": "f", "double": "d"}[element]
    return int.from_bytes(struct.pack(f"<{code}", value), "little")


def rounded_to_bfloat(value: float) -> int:
    """Return the bfloat16 that is nearest, of two the even one: by search among all of them."""
    bits = [sign | magnitude for sign in (0, 0x8000) for magnitude in range(0x7F81)]
    own_sign = 0x8000 if math.copysign(1, value) < 0 else 0
    candidates = [b for b in bits if b & 0x8000 == own_sign]
    numbers = [_of_bfloat(b) for b in candidates]
    numbers[-1] = math.copysign(2.0**128, value)  # infinity begins where the next number would be
    if math.isinf(value):
        return candidates[-1]
    return min(candidates, key=lambda b: (abs(numbers[b & 0x7FFF] - value), b & 1))


def _of_bfloat(bits: int) -> float:
    return float(struct.unpack("<f", struct.pack("<I", bits << 16))[0])


def bits_in_llvm(element: str, spelled: str) -> int:
    """Return the bits that LLVM reads a constant as."""
    width = {"half": 16, "bfloat": 16, "float": 32, "double": 64}[element]
    function = f"define i{width} @f() {{\n  ret i{width} bitcast ({element} {spelled} to i{width})\n}}"
    module = llvm.parse_assembly(function)
    (returned,) = (
        str(instruction).split()[-1]
        for name in module.functions
        for block in name.blocks
        for instruction in block.instructions
    )
    return int(returned) % 2**width


@pytest.mark.parametrize(("element", "largest_exponent"), [("half", 3), ("float", 37), ("double", 99)])
@given(data=st.data())
def test_decimals_become_the_nearest_number_s_bits(
    element: str, largest_exponent: int, data: st.DataObject
) -> None:
    decimal = data.draw(decimals(largest_exponent))
    spelled = readable_by_llvm_22(f"fadd {element} {decimal}, %x").split()[2].rstrip(",")
    assert bits_in_llvm(element, spelled) == rounded(element, float(decimal))


@pytest.mark.parametrize("value", [1.0, -0.0, 1.00390625, 1.01171875, 3.4e38, 3.39e38, 1e-40, 9.2e-41, -2.5])
def test_bfloat_constants_become_the_nearest_number_s_bits(value: float) -> None:
    assert bits_in_llvm("bfloat", bit_pattern("bfloat", value)) == rounded_to_bfloat(value)


@pytest.mark.parametrize(("element", "bits"), [("half", 16), ("bfloat", 16), ("float", 32), ("double", 64)])
@given(data=st.data())
def test_constants_given_by_their_bits_keep_them(element: str, bits: int, data: st.DataObject) -> None:
    number = data.draw(st.integers(0, 2**bits - 1).filter(lambda n: not _is_nan(n, element)))
    spelled = readable_by_llvm_22(f"ret {element} f0x{number:0{bits // 4}X}").split()[-1]
    assert bits_in_llvm(element, spelled) == number


def _is_nan(number: int, element: str) -> bool:
    """Whether bits are no number; their payloads are not kept by a conversion to double."""
    mantissa = {"half": 10, "bfloat": 7, "float": 23, "double": 52}[element]
    width = {"half": 16, "bfloat": 16, "float": 32, "double": 64}[element]
    exponent = number >> mantissa & ((1 << (width - 1 - mantissa)) - 1)
    return exponent == (1 << (width - 1 - mantissa)) - 1 and number % 2**mantissa != 0


@pytest.mark.parametrize("element", FLOAT_TYPES)
@pytest.mark.parametrize(("word", "sign"), [("+inf", 1), ("-inf", -1)])
def test_infinities_in_words(element: str, word: str, sign: int) -> None:
    spelled = readable_by_llvm_22(f"ret {element} {word}").split()[-1]
    assert bits_in_llvm(element, spelled) == rounded(element, sign * math.inf)


@pytest.mark.parametrize("word", ["+qnan", "-qnan", "+nan"])
def test_words_for_no_number(word: str) -> None:
    bits = bits_in_llvm("float", readable_by_llvm_22(f"ret float {word}").split()[-1])
    assert _is_nan(bits, "float")
    assert bits >> 31 == int(word.startswith("-"))


# ------------------------------------------------------------------ where constants stand


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
    ],
)
def test_a_constant_is_of_the_type_before_it(line: str, expected: str) -> None:
    assert readable_by_llvm_22(line) == expected


@pytest.mark.parametrize(
    "line",
    [
        "; half 1.5, and llvm.amdgcn.s.barrier",
        '@text = constant [8 x i8] c"half 1.5"',
        "%half.1.5 = add i32 %a.2.0, 17",
        "!0 = !{i32 1, i32 2}",
        "%x = fadd float %y, 0x3FE0000000000000",
        "%x = fadd half %y, 0xH3C00",
        "%r = call float @llvm.exp2.f32(float %x)",
        "switch i32 %i, label %d [ i32 -1, label %a ]",
        "br label %146",
    ],
)
def test_everything_else_stays(line: str) -> None:
    assert readable_by_llvm_22(line) == line


def test_a_type_counts_until_the_end_of_its_line() -> None:
    assert readable_by_llvm_22("%x = fadd half %a, %b\n%version = 1.5") == (
        "%x = fadd half %a, %b\n%version = 1.5"
    )


# ------------------------------------------------------------------ names, attributes, triples


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("call void @llvm.amdgcn.s.barrier()", "call void @device.llvm.amdgcn.s.barrier()"),
        (
            "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()",
            "declare i32 @device.llvm.nvvm.read.ptx.sreg.tid.x()",
        ),
        ("declare void @f(i32 immarg)", "declare void @f(i32 )"),
        (
            "define void @f() nounwind denormal_fpenv(float: preservesign) {",
            "define void @f() nounwind  {",
        ),
        (
            "attributes #0 = { a(b(c)) denormal_fpenv(x(y), z) nounwind }",
            "attributes #0 = { a(b(c))  nounwind }",
        ),
        ("declare void @f() nocreateundeforpoison nounwind", "declare void @f()  nounwind"),
        ('target triple = "amdgpu9.42-amd-amdhsa"', 'target triple = "amdgcn-amd-amdhsa"'),
        ('target triple = "amdgpu11.00-amd-amdhsa"', 'target triple = "amdgcn-amd-amdhsa"'),
        ('target triple = "nvptx64-nvidia-cuda"', 'target triple = "nvptx64-nvidia-cuda"'),
        ('source_filename = "amdgpu11.00-amd-amdhsa"', 'source_filename = "amdgpu11.00-amd-amdhsa"'),
    ],
)
def test_names_attributes_and_triples(line: str, expected: str) -> None:
    normal = readable_by_llvm_22(line)
    assert normal.split() == expected.split()


def test_spelling_twice_changes_nothing_more() -> None:
    for file in FOLDER.glob("*.ll"):
        once = readable_by_llvm_22(file.read_text(encoding="utf-8"))
        assert readable_by_llvm_22(once) == once
