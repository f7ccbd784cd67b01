"""LLVM IR text from newer compilers, spelled so that the LLVM of this environment reads it.

IREE prints its IR with a newer LLVM than the one of the bindings.  What the older one cannot read is spelled
another way here, token by token: floating-point constants as bit patterns, and without attributes that only
say what an optimizer may assume.

Device intrinsics become functions outside of LLVM's own `llvm.` names, with the same name behind a prefix:
their signatures change between LLVM versions, and here only the models (`harness.emulator.models`) need to
know them.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

import ml_dtypes
import numpy as np

FLOAT_TYPES = {"half": np.float16, "bfloat": ml_dtypes.bfloat16, "float": np.float32, "double": np.float64}

DEVICE_INTRINSICS = ("llvm.nvvm.", "llvm.amdgcn.")
"""How the names of the intrinsics of NVIDIA's and AMD's back ends begin."""

DEVICE_PREFIX = "device."
"""What stands before the name of a device intrinsic that has become a function."""

NEW_ATTRIBUTES = ("denormal_fpenv", "nocreateundeforpoison", "immarg")
"""Attributes, with or without an argument list, that the older LLVM does not know or that only intrinsics
may have."""

OLD_TRIPLES = {"amdgpu": "amdgcn"}
"""Older names of an architecture, by the beginning of its newer names (`amdgpu11.00-amd-amdhsa`)."""

_TOKEN = re.compile(
    r"""
      (?P<comment> ;[^\n]*)
    | (?P<string>  c?"[^"]*")
    | (?P<name>    [%@!\#$] (?: "[^"]*" | [-\w.$]+ ))
    | (?P<bits>    f?0x[HRKLM]?[0-9A-Fa-f]+)
    | (?P<number>  [-+]? \d+ \. \d* (?: [eE][-+]?\d+ )?)
    | (?P<special> [-+] (?: inf | qnan | nan (?: \( 0x[0-9A-Fa-f]+ \) )? ) (?! \w))
    | (?P<integer> [-+]? \d+ (?! \w))
    | (?P<word>    [A-Za-z_$.][-\w.$]*)
    | (?P<space>   [ \t\r]+)
    | (?P<newline> \n)
    | (?P<mark>    .)
    """,
    re.VERBOSE,
)


_DEVICE_NAME = re.compile(rf"@((?:{'|'.join(map(re.escape, DEVICE_INTRINSICS))})[-\w.$]+)")

_MAY_NEED_SPELLING = re.compile("|".join([*NEW_ATTRIBUTES, "triple", "f0x", r"\d\.", "inf", "nan", '"']))
"""What no line is without, the names of device intrinsics aside, that has to be spelled another way; most
lines are spared the lexer."""


@dataclass(frozen=True)
class Token:
    """A piece of LLVM IR text."""

    kind: str
    text: str


def tokens(text: str) -> Iterator[Token]:
    """Yield the tokens of LLVM IR, space and comments included: joined they are the text again."""
    for match in _TOKEN.finditer(text):
        yield Token(str(match.lastgroup), match.group())


def readable_by_llvm_22(text: str) -> str:
    """Return the same module as LLVM 22 spells it."""
    return "".join(map(_readable, text.splitlines(keepends=True)))


def _readable(line: str) -> str:
    """Return a line spelled for LLVM 22, by the lexer only where more than names may have to change."""
    if _MAY_NEED_SPELLING.search(_DEVICE_NAME.sub("", line)):
        return _respelled(line)
    return _DEVICE_NAME.sub(rf"@{DEVICE_PREFIX}\1", line)


def _respelled(line: str) -> str:
    """Return a line spelled for LLVM 22; no token or argument list of an attribute goes beyond one."""
    spelled = []
    element: str | None = None
    is_triple = False
    for token in _without_new_attributes(tokens(line)):
        if token.kind == "word":
            element = token.text if token.text in FLOAT_TYPES else element
            is_triple = is_triple or token.text == "triple"
        spelled.append(
            _triple(token.text) if token.kind == "string" and is_triple else _spell(token, element)
        )
    return "".join(spelled)


def bit_pattern(element: str, value: float | np.generic) -> str:
    """Return LLVM's hexadecimal spelling of a constant of a floating-point type, rounded to nearest."""
    rounded = np.asarray(value).astype(FLOAT_TYPES[element])
    if element in ("half", "bfloat"):
        return f"0x{'H' if element == 'half' else 'R'}{rounded.view(np.uint16):04X}"
    return f"0x{rounded.astype(np.float64).view(np.uint64):016X}"


def _spell(token: Token, element: str | None) -> str:
    if token.kind == "name" and token.text[1:].startswith(DEVICE_INTRINSICS):
        return f"@{DEVICE_PREFIX}{token.text[1:]}"
    if element is None:
        return token.text
    if token.kind == "number":
        return bit_pattern(element, float(token.text))
    if token.kind == "special":
        sign = -1.0 if token.text.startswith("-") else 1.0
        if token.text.endswith(")"):
            return bit_pattern(element, _nan(element, token.text))
        return bit_pattern(element, math.copysign(math.inf if "inf" in token.text else math.nan, sign))
    if token.kind == "bits" and token.text.startswith("f0x"):
        dtype = np.dtype(FLOAT_TYPES[element])
        return bit_pattern(element, np.array(int(token.text[3:], 16), f"u{dtype.itemsize}").view(dtype)[()])
    return token.text


def _nan(element: str, text: str) -> np.generic:
    """Return the quiet NaN of a sign and a payload, `+nan(0x3F)`."""
    dtype = np.dtype(FLOAT_TYPES[element])
    word = np.dtype(f"u{dtype.itemsize}")
    sign = (text[0] == "-") << (8 * dtype.itemsize - 1)
    quiet = int(np.array(np.nan, dtype).view(word)) & ~(1 << (8 * dtype.itemsize - 1))
    number: np.generic = np.array(sign | quiet | int(text[len("+nan(") : -1], 16), word).view(dtype)[()]
    return number


def _triple(quoted: str) -> str:
    architecture, separator, rest = quoted.strip('"').partition("-")
    for newer, older in OLD_TRIPLES.items():
        if architecture.startswith(newer):
            architecture = older
    return f'"{architecture}{separator}{rest}"'


def _without_new_attributes(stream: Iterator[Token]) -> Iterator[Token]:
    for token in stream:
        if token.kind != "word" or token.text not in NEW_ATTRIBUTES:
            yield token
            continue
        following = next(stream, None)
        if following is not None and following.text == "(":
            _skip_to_closing(stream)
        elif following is not None:
            yield following


def _skip_to_closing(stream: Iterator[Token]) -> None:
    depth = 1
    while depth:
        depth += {"(": 1, ")": -1}.get(next(stream).text, 0)
