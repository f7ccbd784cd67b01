"""The names of OpenCL builtins in LLVM IR: mangled by the Itanium C++ ABI."""

INTEGER_SIZES = {"c": 1, "h": 1, "s": 2, "t": 2, "i": 4, "j": 4, "l": 8, "m": 8}
"""Bytes of the integer types by their letters: char, uchar, short, ushort, int, uint, long, ulong."""

FLOAT_SIZES = {"Dh": 2, "f": 4}
"""Bytes of half and float."""


def vector(element: str, width: int) -> str:
    """Return a vector type (`Dv8_f`), or the element's own for a single element."""
    return element if width == 1 else f"Dv{width}_{element}"


def mangled(name: str, *types: str) -> str:
    """Return a builtin's name; a vector type that came before is a reference to it: `S_`, `S0_`, `S1_`."""
    seen: list[str] = []
    spelled = []
    for kind in types:
        if kind in seen:
            number = seen.index(kind)
            spelled.append(f"S{number - 1 if number else ''}_")
            continue
        if kind.startswith("Dv"):
            seen.append(kind)
        spelled.append(kind)
    return spelled_out(name, *spelled)


def spelled_out(name: str, *types: str) -> str:
    """Return a builtin's name with all its types spelled out, as MLIR's conversion of mathematics has it."""
    return f"_Z{len(name)}{name}{''.join(types)}"
