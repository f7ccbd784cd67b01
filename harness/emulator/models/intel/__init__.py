"""Models of the OpenCL builtins that XeVM lowering and OpenCL C call, by mangled name.

C functions `opencl_…` model what the OpenCL specification and its `khr` extensions define, `intel_…` what
Intel's extensions add.
"""

from collections.abc import Iterator, Mapping
from itertools import chain, product
from types import MappingProxyType

from harness.emulator.models.intel import blocks
from harness.emulator.models.intel.mangling import (
    ELEMENT_SIZES,
    FLOAT_SIZES,
    INTEGER_SIZES,
    mangled,
    spelled_out,
    type_code,
    vector,
)
from harness.emulator.models.model import Model, collective, expanded, lane, nothing

VECTOR_WIDTHS = (1, 2, 3, 4, 8, 16)


# ------------------------------------------------------------------ work-items

OF_A_DIMENSION = [
    *expanded("get_{local,global,group}_id"),
    *expanded("get_{local_size,global_size,num_groups,global_offset}"),
]
OF_THE_WORK_ITEM = [
    *expanded("get_{local_linear,global_linear,sub_group,sub_group_local}_id"),
    *expanded("get_{sub_group_size,max_sub_group_size,num_sub_groups}"),
]


def _identity() -> Iterator[tuple[str, Model]]:
    for name in OF_A_DIMENSION:
        yield mangled(name, "j"), lane(f"opencl_{name}")
    for name in OF_THE_WORK_ITEM:
        yield mangled(name, "v"), lane(f"opencl_{name}")
        yield mangled(name), lane(f"opencl_{name}")  # MLIR writes no `v` for an empty list
    # Work-groups all have the same size here.
    yield mangled("get_enqueued_local_size", "j"), lane("opencl_get_local_size")
    yield mangled("get_enqueued_num_sub_groups", "v"), lane("opencl_get_num_sub_groups")


# ------------------------------------------------------------------ sub-groups


def _shuffles() -> Iterator[tuple[str, Model]]:
    for element, size in ELEMENT_SIZES.items():
        for shuffle in ("", "_xor", "_up", "_down"):
            symbol = f"opencl_sub_group_shuffle{shuffle}"
            yield mangled(f"sub_group_shuffle{shuffle}", element, "j"), collective(symbol, size)
        for width in (1,) if element in ("Dh", "d", "l", "m") else VECTOR_WIDTHS:
            value, value_size = vector(element, width), size * (4 if width == 3 else width)
            for shuffle in ("", "_xor"):
                name, symbol = f"intel_sub_group_shuffle{shuffle}", f"opencl_sub_group_shuffle{shuffle}"
                yield mangled(name, value, "j"), collective(symbol, value_size)
            for shuffle in ("_up", "_down"):
                name = f"intel_sub_group_shuffle{shuffle}"
                yield mangled(name, value, value, "j"), collective(name, value_size)


def _reductions() -> Iterator[tuple[str, Model]]:
    for element, size in ELEMENT_SIZES.items():
        # Of small integers Intel's extensions came before `cl_khr_subgroup_extended_types`.
        for prefix in ("", "intel_") if element in ("c", "h", "s", "t") else ("",):
            yield (
                mangled(f"{prefix}sub_group_broadcast", element, "j"),
                collective("opencl_sub_group_broadcast", size),
            )
            for family in ("reduce", "scan_inclusive", "scan_exclusive"):
                for operation in ("add", "min", "max"):
                    name = f"sub_group_{family}_{operation}"
                    model = collective(f"opencl_{name}", type_code(element))
                    yield mangled(f"{prefix}{name}", element), model
    for name in ("sub_group_all", "sub_group_any"):
        yield mangled(name, "i"), collective(f"opencl_{name}")


# ------------------------------------------------------------------ matrices

ROWS = (1, 2, 4, 8)

INTEGER_OPERANDS = {"i8": ("s", "i"), "u8": ("t", "j"), "i4": ("s", "i"), "u4": ("t", "j")}
"""The types that A and B are packed into in OpenCL, by the format of their elements."""


def _products() -> Iterator[tuple[str, Model]]:
    for rows in ROWS:
        for format_, accumulators in (("f16", ("f", "Dh")), ("bf16", ("f", "s"))):
            name = f"intel_sub_group_{format_}_{format_}_matrix_mad_k16"
            for accumulator in accumulators:
                model = collective(f"intel_dpas_{format_}", type_code(accumulator), rows)
                for types in _operand_types(("s", rows), ("i", 8), (accumulator, rows)):
                    yield mangled(name, *types), model
        name = "intel_sub_group_tf32_tf32_matrix_mad_k8"
        for types in _operand_types(("f", max(rows // 2, 1)), ("f", 8), ("f", rows)):
            yield mangled(name, *types), collective("intel_dpas_tf32", rows)
        for a, b in product(INTEGER_OPERANDS, repeat=2):
            if a[1] == b[1]:
                yield from _integer_products(a, b, rows)


def _integer_products(a: str, b: str, rows: int) -> Iterator[tuple[str, Model]]:
    model = collective(f"intel_dpas_{a}_{b}", rows)
    depth = 32 if a[1] == "8" else 64
    name = f"intel_sub_group_{a}_{b}_matrix_mad_k{depth}"
    a_type, b_type = INTEGER_OPERANDS[a][0], INTEGER_OPERANDS[b][1]
    for types in _operand_types((a_type, rows), (b_type, 8), ("i", rows)):
        yield mangled(name, *types), model
    if depth == 32:
        # MLIR says s8 for i8, and packs all formats into signed types.
        name = f"intel_sub_group_{a.replace('i', 's')}_{b.replace('i', 's')}_matrix_mad_k32"
        for types in _operand_types(("s", rows), ("i", 8), ("i", rows)):
            yield mangled(name, *types), model


def _operand_types(*operands: tuple[str, int]) -> Iterator[list[str]]:
    """Yield the types of operands in a name: single elements as scalars, and as vectors as MLIR has them."""
    yield [vector(element, width) for element, width in operands]
    if any(width == 1 for _, width in operands):
        yield [f"Dv{width}_{element}" for element, width in operands]


# ------------------------------------------------------------------ mathematics

NATIVE = ("exp", "exp2", "exp10", "log", "log2", "log10", "sqrt", "rsqrt", "recip", "sin", "cos", "tan")
EXACT = (
    *("exp", "exp2", "exp10", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "sin", "cos", "tan"),
    *("tanh", "erf", "fabs", "floor", "ceil", "trunc", "rint", "round"),
)

FUNCTIONS = {
    **{f"native_{name}": (name, 1) for name in NATIVE},
    **{name: (name, 1) for name in EXACT},
    "native_divide": ("divide", 2),
    "native_powr": ("powr", 2),
    **{name: (name, 2) for name in ("pow", "powr", "fmax", "fmin")},
    "fma": ("fma", 3),
    "mad": ("fma", 3),  # which may or may not round the product
}
"""Mathematical functions: the model's name and the number of operands."""


def _mathematics() -> Iterator[tuple[str, Model]]:
    for name, (function, operands) in FUNCTIONS.items():
        for element in FLOAT_SIZES:
            for width in VECTOR_WIDTHS:
                types = [vector(element, width)] * operands
                model = lane(f"opencl_{function}", type_code(element), width)
                for full_name in (name, f"__spirv_ocl_{name}"):
                    yield mangled(full_name, *types), model
                    yield spelled_out(full_name, *types), model


# ------------------------------------------------------------------ barriers, fences, prefetches

_SCOPE = "12memory_scope"


def _synchronization() -> Iterator[tuple[str, Model]]:
    yield mangled("barrier", "j"), lane("opencl_work_group_barrier")
    for types in (("j",), ("j", _SCOPE)):
        yield mangled("work_group_barrier", *types), lane("opencl_work_group_barrier")
        yield mangled("sub_group_barrier", *types), collective("opencl_sub_group_barrier")
        for half in ("arrive", "wait"):
            name = f"intel_work_group_barrier_{half}"
            yield mangled(name, *types), lane(name)
    for fence in ("mem_fence", "read_mem_fence", "write_mem_fence"):
        yield mangled(fence, "j"), nothing()
    yield mangled("atomic_work_item_fence", "j", "12memory_order", _SCOPE), nothing()
    yield mangled("atomic_work_item_fence", "i", "i", "i"), nothing()  # MLIR's spelling
    for element in (*INTEGER_SIZES, *FLOAT_SIZES):
        for width in VECTOR_WIDTHS:
            yield mangled("prefetch", f"PU3AS1K{vector(element, width)}", "m"), nothing()


MODELS: Mapping[str, Model] = MappingProxyType(
    dict(
        chain(
            _identity(),
            _shuffles(),
            _reductions(),
            _products(),
            blocks.two_dimensional(),
            blocks.one_dimensional(),
            _mathematics(),
            _synchronization(),
        )
    )
)
"""The model of each builtin."""
