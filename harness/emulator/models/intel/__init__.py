"""Models of the OpenCL builtins that XeVM's lowering of attention calls, by mangled name.

C functions `opencl_…` model what the OpenCL specification and its `khr` extensions define, `intel_…` what
Intel's extensions add.  What is not here is not modelled, and a kernel that calls it is refused: other
formats of matrix products, blocks of 8-bit elements or of consecutive memory, reductions and scans.
"""

from collections.abc import Iterator, Mapping
from itertools import chain
from types import MappingProxyType

from harness.emulator.models.intel.blocks import block_models
from harness.emulator.models.intel.mangling import (
    FLOAT_SIZES,
    INTEGER_SIZES,
    mangled,
    spelled_out,
    vector,
)
from harness.emulator.models.model import Model, collective, expanded, lane, nothing

VECTOR_WIDTHS = (1, 2, 3, 4, 8, 16)

OF_A_DIMENSION = expanded("get_{local_id,global_id,group_id,local_size,num_groups}")
OF_THE_WORK_ITEM = expanded(
    "get_{sub_group_id,sub_group_local_id,sub_group_size,max_sub_group_size,num_sub_groups}"
)


def _identity() -> Iterator[tuple[str, Model]]:
    for name in OF_A_DIMENSION:
        yield mangled(name, "j"), lane(f"opencl_{name}")
    for name in OF_THE_WORK_ITEM:
        yield mangled(name, "v"), lane(f"opencl_{name}")
        yield mangled(name), lane(f"opencl_{name}")  # MLIR writes no `v` for an empty list


def _shuffles() -> Iterator[tuple[str, Model]]:
    for element, size in {**INTEGER_SIZES, **FLOAT_SIZES, "d": 8}.items():
        for name in ("sub_group_shuffle", "sub_group_shuffle_xor"):
            yield mangled(name, element, "j"), collective(f"opencl_{name}", size)


ROWS = 8
"""Of operand A of a product, and of its result."""


def _products() -> Iterator[tuple[str, Model]]:
    types = vector("s", ROWS), vector("i", 8), vector("f", ROWS)
    for format_ in ("f16", "bf16"):
        name = f"intel_sub_group_{format_}_{format_}_matrix_mad_k16"
        yield mangled(name, *types), collective(f"intel_dpas_{format_}", ROWS)


FUNCTIONS = {
    **{name: (name, 1) for name in ("exp", "exp2", "log", "log2", "sqrt", "rsqrt", "tanh", "fabs")},
    **{f"native_{name}": (name, 1) for name in ("exp", "exp2", "log", "log2", "sqrt", "rsqrt", "recip")},
    "native_divide": ("divide", 2),
    "fmax": ("fmax", 2),
    "fmin": ("fmin", 2),
    "fma": ("fma", 3),
    "mad": ("fma", 3),  # which may or may not round the product
}
"""Mathematical functions: the model's name and the number of operands."""


def _mathematics() -> Iterator[tuple[str, Model]]:
    for name, (function, operands) in FUNCTIONS.items():
        for element in FLOAT_SIZES:
            for width in VECTOR_WIDTHS:
                types = [vector(element, width)] * operands
                model = lane(f"opencl_{function}", ord(element[0]), width)
                for full_name in (name, f"__spirv_ocl_{name}"):
                    yield mangled(full_name, *types), model
                    yield spelled_out(full_name, *types), model


def _synchronization() -> Iterator[tuple[str, Model]]:
    yield mangled("barrier", "j"), lane("opencl_work_group_barrier")
    for types in (("j",), ("j", "12memory_scope")):
        yield mangled("work_group_barrier", *types), lane("opencl_work_group_barrier")
        yield mangled("sub_group_barrier", *types), collective("opencl_sub_group_barrier")
    yield mangled("mem_fence", "j"), nothing()
    yield mangled("atomic_work_item_fence", "i", "i", "i"), nothing()  # MLIR's spelling


MODELS: Mapping[str, Model] = MappingProxyType(
    dict(
        chain(_identity(), _shuffles(), _products(), block_models(), _mathematics(), _synchronization()),
    )
)
"""The model of each builtin."""
