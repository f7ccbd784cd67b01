"""The models in OpenCL C, called by Intel's OpenCL runtime: who gets and gives which element.

Sources of the tables: `tests/intel_fragments.py`.
"""

from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest
from fragment_tables import Placement
from intel_fragments import SPIRV, plain_block

from harness.system.errors import UnsupportedError
from harness.targets.gpu.driver import DeviceError
from harness.targets.gpu.launch import GpuKernel
from harness.targets.xegpu.processor.executor import sources

needs_runtime = pytest.mark.extra("intel")

LANES = 16
HEIGHT, COLUMNS, PITCH = 20, 40, 48
"""Of the matrix: rows, elements of a row, and elements between the beginnings of two rows."""
OUTSIDE = 0

SURFACE = "PU3AS1viiiDv2_i"
KERNEL = """
__attribute__((intel_reqd_sub_group_size(16)))
kernel void probe(global {type} *matrix, global {own} *values, global int *corner) {{
    {own} own[{count}];
    int lane = get_sub_group_local_id();
    for (int i = 0; i < {count}; i++) own[i] = values[lane * {count} + i];
    {name}(matrix, {width}, {height}, {pitch}, (int2)(corner[0], corner[1]), own);
    for (int i = 0; i < {count}; i++) values[lane * {count} + i] = own[i];
}}
"""


def run(text: str, *arrays: np.ndarray) -> list[np.ndarray]:
    """Run the kernel `probe` by one sub-group; return what is then in the arrays."""
    from harness.targets.xegpu.device.driver import OpenClDriver
    from harness.targets.xegpu.processor.executor import compiled_source, linked
    from harness.targets.xegpu.processor.runtime import open_processor

    device = open_processor()
    driver = OpenClDriver(device, linked(device, [compiled_source(device, text)]))
    memory = [driver.allocate(array.nbytes, "array", is_input=False) for array in arrays]
    for allocation, array in zip(memory, arrays, strict=True):
        allocation.write(np.ascontiguousarray(array))
    kernel = GpuKernel(name="probe", buffers=(), grid=1, threads=LANES, shared_bytes=0)
    driver.prepare(kernel, memory)()
    driver.synchronize()
    return [
        allocation.read(array.dtype, array.shape) for allocation, array in zip(memory, arrays, strict=True)
    ]


def matrix_of(dtype: type) -> np.ndarray:
    """A matrix in which every element says where it is, and none is 0."""
    numbers = 1 + np.arange(HEIGHT * PITCH).reshape(HEIGHT, PITCH)
    return numbers.astype(dtype)


def message(name: str, own: str, matrix: np.ndarray, values: np.ndarray, corner: tuple[int, int]) -> list:
    mangled = f"_Z{len(name)}{name}{SURFACE}P{own}"
    types = {"t": "ushort", "j": "uint"}
    kernel = KERNEL.format(
        type={2: "ushort", 4: "uint"}[matrix.itemsize],
        own=types[own],
        count=values.shape[1],
        name=name,
        width=COLUMNS * matrix.itemsize,
        height=HEIGHT,
        pitch=PITCH * matrix.itemsize,
    )
    return run(sources([mangled]) + kernel, matrix, values, np.array(corner, np.int32))


def element(matrix: np.ndarray, corner: tuple[int, int], row: int, column: int) -> int:
    x, y = corner[0] + column, corner[1] + row
    return int(matrix[y, x]) if 0 <= y < HEIGHT and 0 <= x < COLUMNS else OUTSIDE


def expected(
    matrix: np.ndarray, corner: tuple[int, int], place: Callable[[int, int], tuple[int, int]], count: int
) -> np.ndarray:
    return np.array(
        [[element(matrix, corner, *place(lane, i)) for i in range(count)] for lane in range(LANES)]
    )


INSIDE, AT_THE_END, BEFORE = (3, 2), (24, 15), (-2, -1)
corners = pytest.mark.parametrize("corner", [INSIDE, AT_THE_END, BEFORE])


def beside(place: Placement, rows: int, columns: int = LANES) -> Placement:
    """Return the elements of several blocks side by side, one after another."""

    def placed(lane: int, at: int) -> tuple[int, int]:
        row, column = place(lane, at % rows)
        return row, column + at // rows * columns

    return placed


@needs_runtime
@corners
@pytest.mark.parametrize(
    ("name", "own", "element", "held", "place"),
    [
        ("read_16b_8r16x2c", np.uint16, np.uint16, 16, beside(plain_block, 8)),
        ("read_transpose_32b_16r8x1c", np.uint32, np.uint32, 8, lambda lane, at: (lane, at)),
        ("read_transform_16b_16r16x2c", np.uint32, np.uint16, 16, beside(SPIRV["B"], 16)),
    ],
)
def test_a_read_gives_a_lane_its_elements(
    name: str, own: type, element: type, held: int, place: Placement, corner: tuple[int, int]
) -> None:
    matrix, values = matrix_of(element), np.zeros((LANES, held), own)
    mangled = {np.uint16: "t", np.uint32: "j"}[own]
    _, read, _ = message(f"intel_sub_group_2d_block_{name}", mangled, matrix, values, corner)
    found = read.view(element)
    assert (found == expected(matrix, corner, place, found.shape[1])).all()


@needs_runtime
@corners
def test_a_write_stores_what_a_read_would_give_and_nothing_outside(corner: tuple[int, int]) -> None:
    matrix, values = matrix_of(np.uint16), (5000 + np.arange(LANES * 8)).reshape(LANES, 8).astype(np.uint16)
    written, _, _ = message("intel_sub_group_2d_block_write_16b_8r16x1c", "t", matrix, values, corner)
    wanted = matrix.copy()
    for lane in range(LANES):
        for at in range(8):
            row, column = plain_block(lane, at)
            x, y = corner[0] + column, corner[1] + row
            if 0 <= y < HEIGHT and 0 <= x < COLUMNS:
                wanted[y, x] = values[lane, at]
    assert (written == wanted).all()


def as_words(elements: np.ndarray) -> np.ndarray:
    return elements.view(np.uint16)


def packed(matrix: np.ndarray, place: Placement, count: int) -> np.ndarray:
    """Return what each lane holds of a matrix."""
    return np.array([[matrix[place(lane, i)] for i in range(count)] for lane in range(LANES)])


@needs_runtime
@pytest.mark.parametrize("rows", [2, 4, 8])
@pytest.mark.parametrize(("name", "dtype"), [("f16", np.float16), ("bf16", ml_dtypes.bfloat16)])
def test_a_product_of_small_whole_numbers_is_exact(name: str, dtype: type, rows: int) -> None:
    draw = np.random.default_rng(1)
    a, b = (draw.integers(-8, 9, shape).astype(dtype) for shape in ((rows, 16), (16, LANES)))
    c = draw.integers(-100, 101, (rows, LANES)).astype(np.float32)
    kernel = f"""
__attribute__((intel_reqd_sub_group_size(16)))
kernel void probe(global short{rows} *a, global int8 *b, global float{rows} *c) {{
    int lane = get_sub_group_local_id();
    c[lane] = intel_sub_group_{name}_{name}_matrix_mad_k16(a[lane], b[lane], c[lane]);
}}
"""
    symbol = f"intel_sub_group_{name}_{name}_matrix_mad_k16"
    text = sources([f"_Z{len(symbol)}{symbol}Dv{rows}_sDv8_iDv{rows}_f"]) + kernel
    operands = [packed(as_words(a), SPIRV["A"], rows), packed(as_words(b), SPIRV["B"], 16)]
    *_, found = run(text, *operands, packed(c, SPIRV["C"], rows))
    exact = a.astype(np.float32) @ b.astype(np.float32) + c
    assert (found == packed(exact, SPIRV["C"], rows)).all()


@needs_runtime
def test_what_the_compiler_refuses_is_one_line() -> None:
    with pytest.raises(DeviceError, match=r"clCompileProgram: error -15 of OpenCL: .*error: "):
        run("kernel void probe() { nothing; }")


@pytest.mark.parametrize(
    "name",
    [
        "_Z42intel_sub_group_2d_block_write_16b_8r16x2cPU3AS1viiiDv2_iPt",
        "_Z41intel_sub_group_2d_block_read_8b_16r32x1cPU3AS1viiiDv2_iPh",
        "_Z51intel_sub_group_2d_block_read_transpose_32b_32r8x1cPU3AS1viiiDv2_iPj",
        "_Z40intel_sub_group_tf32_tf32_matrix_mad_k8Dv4_fDv8_fDv8_f",
        "_Z5twicef",
    ],
)
def test_a_function_without_a_model_is_named(name: str) -> None:
    with pytest.raises(UnsupportedError, match=f"no model of {name}"):
        sources([name])


def test_a_function_has_one_model_however_often_it_is_imported() -> None:
    name = "_Z44intel_sub_group_2d_block_prefetch_16b_8r16x2cPU3AS1viiiDv2_i"
    assert sources([name, name]).endswith("PREFETCH(ushort, 16, 8, 16, 2)")
    assert sources([name]).count("PREFETCH(ushort") == 1
