"""Which models in OpenCL C a module needs: those of the functions that it imports, by their mangled names."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from harness.system.errors import UnsupportedError

MODELS = Path(__file__).with_name("models")

MESSAGE = re.compile(
    r"_Z\d+intel_sub_group_2d_block_(?P<kind>read|write|read_transpose|read_transform|prefetch)"
    r"_(?P<bits>\d+)b_(?P<rows>\d+)r(?P<columns>\d+)x(?P<blocks>\d+)cPU3AS1viiiDv2_i\w*"
)
PRODUCT = re.compile(
    r"_Z\d+intel_sub_group_(?P<format>f16|bf16)_(?P=format)_matrix_mad_k16"
    r"Dv(?P<rows>[248])_sDv8_iDv(?P=rows)_f"
)

TYPES = {16: "ushort", 32: "uint"}
"""OpenCL's types of elements, by their bits."""
LANES = 16


def sources(names: Iterable[str]) -> str:
    """Return a program in OpenCL C that has the functions of these names.

    Raises `UnsupportedError` for a function that has no model, by its name.
    """
    texts = [file.read_text() for file in sorted(MODELS.glob("*.cl"))]
    return "\n".join([*texts, *_instances(names)])


def _instances(names: Iterable[str]) -> Iterator[str]:
    for name in sorted(set(names)):
        instance = _message(name) or _product(name)
        if instance is None:
            raise UnsupportedError(f"the executor opencl has no model of {name}")
        yield instance


def _message(name: str) -> str | None:
    match = MESSAGE.fullmatch(name)
    if match is None:
        return None
    kind = match["kind"]
    bits, rows, columns, blocks = (int(match[part]) for part in ("bits", "rows", "columns", "blocks"))
    is_modelled = (
        bits in TYPES
        and {
            "read": rows * columns % LANES == 0,
            "write": rows * columns % LANES == 0 and blocks == 1,
            "read_transpose": (bits, rows, blocks) == (32, LANES, 1),
            "read_transform": (bits, columns) == (16, LANES),
            "prefetch": True,
        }[kind]
    )
    return f"{kind.upper()}({TYPES[bits]}, {bits}, {rows}, {columns}, {blocks})" if is_modelled else None


def _product(name: str) -> str | None:
    match = PRODUCT.fullmatch(name)
    return None if match is None else f"PRODUCT({match['format']}, {match['rows']})"
