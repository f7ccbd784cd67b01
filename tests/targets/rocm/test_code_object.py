"""Figures of AMD kernels, from the metadata in their assembly."""

import pytest

from harness.artifact.artifact import StaticMetrics
from harness.targets.gpu.kernel_metrics import KernelMetrics, combine, instructions
from harness.targets.rocm.code_object import MATRIX_INSTRUCTION, kernel_metrics

ASSEMBLY = """
	.text
scores:
	v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[6:7], v[0:3]
	v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[6:7], v[0:3]
	v_wmma_f32_16x16x16_bf16 v[0:7], v[8:15], v[16:23], v[0:7]
	s_endpgm
	.amdgpu_metadata
---
amdhsa.kernels:
  - .agpr_count:     4
    .args:
      - .address_space:  global
        .offset:         0
        .size:           8
        .value_kind:     global_buffer
    .group_segment_fixed_size: 26112
    .max_flat_workgroup_size: 256
    .name:           scores
    .private_segment_fixed_size: 44
    .reqd_workgroup_size:
      - 256
      - 1
      - 1
    .sgpr_count:     22
    .sgpr_spill_count: 3
    .vgpr_count:     256
    .vgpr_spill_count: 11
    .wavefront_size: 64
  - .agpr_count:     0
    .args:
      - .address_space:  global
        .offset:         0
        .size:           8
        .value_kind:     global_buffer
    .group_segment_fixed_size: 0
    .name:           softmax
    .sgpr_count:     16
    .sgpr_spill_count: 0
    .vgpr_count:     33
    .vgpr_spill_count: 2
    .wavefront_size: 64
amdhsa.target:   amdgcn-amd-amdhsa-unknown-gfx942
amdhsa.version:
  - 1
  - 2
...

	.end_amdgpu_metadata
"""

SCORES = KernelMetrics(
    name="scores",
    registers=256,
    spills=11,
    accumulator_registers=4,
    scalar_registers=22,
    scratch_bytes=44,
    shared_bytes=26112,
    workgroup_size=256,
)
SOFTMAX = KernelMetrics(
    name="softmax", registers=33, spills=2, accumulator_registers=0, scalar_registers=16, shared_bytes=0
)


def test_each_kernel_has_its_figures_and_instructions():
    assert kernel_metrics(ASSEMBLY) == [SCORES, SOFTMAX]
    assert kernel_metrics("\ts_endpgm\n") == []
    named = instructions(MATRIX_INSTRUCTION, [ASSEMBLY])
    assert named == "v_mfma_f32_16x16x16_f16,v_wmma_f32_16x16x16_bf16"


@pytest.mark.parametrize(
    ("kernels", "together"),
    [
        ([SCORES, SOFTMAX], SCORES.model_copy(update={"name": None, "spills": 13})),
        ([KernelMetrics(registers=3), KernelMetrics()], KernelMetrics(registers=3)),
        ([], KernelMetrics()),
    ],
)
def test_kernels_need_the_most_of_each_and_spill_together(
    kernels: list[KernelMetrics], together: KernelMetrics
) -> None:
    assert combine(kernels) == StaticMetrics(**together.model_dump(exclude={"name"}))
