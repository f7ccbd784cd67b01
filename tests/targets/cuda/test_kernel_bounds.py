"""What bounds kernels: small ones by hand, and those that are built here."""

import pytest
from sass_text import Line, disassembly

from harness.codegen.bounds.loop_model import LoopModel, Unmodelled
from harness.targets.cuda.kernel_bounds import kernel_bounds
from harness.targets.gpu.launch import GpuKernel
from harness.targets.lowering.buffers import Buffer

LOOP = [
    ".L_x_0:",
    Line("LDSM.16.M88.4 R8, [R3]", write=0),
    *[Line("HMMA.16816.F32 R4, R8, R12, R4", stall=8, waits=(0,))] * 4,
    "@P0 BRA `(.L_x_0)",
]


def buffer(name: str, width: int, dtype: str = "f16") -> Buffer:
    return Buffer(name=name, shape=(1, 2, 64, width), dtype=dtype, is_workspace=False)


def kernel(name: str = "attention", dtype: str = "f16", threads: int = 128) -> GpuKernel:
    buffers = (buffer("query", 64, dtype), buffer("key", 64, dtype), buffer("value", 64, dtype))
    return GpuKernel(name=name, buffers=buffers, grid=2, threads=threads, shared_bytes=16 * 1024)


def bounds(chip: str = "sm_80", **changes) -> LoopModel:
    return kernel_bounds(disassembly("attention", LOOP), [kernel(**changes)], {"attention": 128}, chip).model


def test_scores_are_matrix_work_by_the_widths() -> None:
    assert bounds().scores == 4 * 4 * 2048 / 128
    assert bounds(dtype="f32").scores == pytest.approx(4 * 4 * 2048 / 128 / 3)


def test_the_kernel_is_bounded_by_its_products() -> None:
    found = bounds()
    assert found.pipe_cycles["tensor"] == 32
    assert (found.bound, found.residency.workgroups) == ("tensor", 4)
    assert found.shared_bytes_per_mma == 128
    assert found.instructions == {"shared": 1, "matrix": 4, "branch": 1}
    assert found.fraction_of_peak > 0.9


def test_a_kernel_without_products_is_passed_over() -> None:
    text = disassembly("attention", LOOP) + disassembly("combine", ["MOV R1, R2", "EXIT"])
    kernels = [kernel(), kernel("combine")]
    found = kernel_bounds(text, kernels, {"attention": 128, "combine": 32}, "sm_80")
    assert found.model.kernel == "attention"
    assert [instruction.name for instruction in found.loop] == ["LDSM", *["HMMA"] * 4, "BRA"]


def test_two_kernels_with_products_have_no_one_model() -> None:
    text = disassembly("scores", LOOP) + disassembly("values", LOOP)
    with pytest.raises(Unmodelled, match=r"one kernel .* found scores, values"):
        kernel_bounds(text, [kernel("scores"), kernel("values")], {}, "sm_80")


def test_a_kernel_that_does_not_fit_has_no_model() -> None:
    with pytest.raises(Unmodelled, match="not enough registers"):
        bounds(threads=1024)


def test_a_chip_without_model_is_said_first() -> None:
    with pytest.raises(Unmodelled, match="no model of sm_120"):
        bounds("sm_120")
