"""AMD's machine instructions by class."""

import pytest

from harness.targets.rocm.code_object import instruction_classes

ASSEMBLY = """
attention:
	s_load_dwordx4 s[0:3], s[4:5], 0x0
	v_lshlrev_b32_e32 v1, 2, v0            ; an address
	global_load_dwordx4 v[4:7], v1, s[0:1]
.LBB0_1:
	s_waitcnt lgkmcnt(0)
	s_barrier
	ds_read2_b64 v[8:11], v1 offset1:1
	v_mfma_f32_32x32x8_f16 a[0:15], v[8:9], v[10:11], a[0:15]
	v_pk_fma_f32 v[2:3], v[4:5], v[6:7], v[2:3]
	v_dual_fmamk_f32 v1, v2, 0x3f800000, v3 :: v_dual_mov_b32 v4, v5
	v_exp_f32_e32 v3, v3
	v_cvt_f16_f32_e32 v3, v3
	v_permlanex16_b32 v4, v5, s0, s1
	ds_bpermute_b32 v3, v4, v5
	v_cndmask_b32_e32 v3, v4, v5, vcc
	s_cbranch_scc1 .LBB0_1
	scratch_store_dword off, v3, off
	s_endpgm
	.amdgpu_metadata
amdhsa.kernels:
  - .agpr_count:     4
    .name:           attention
"""


def test_instructions_are_counted_by_class_and_metadata_are_none() -> None:
    assert instruction_classes(ASSEMBLY) == {
        "matrix": 1,
        "shuffle": 2,
        "special": 1,
        "convert": 1,
        "float": 2,
        "shared": 1,
        "global": 1,
        "local": 1,
        "barrier": 1,
        "branch": 2,
        "constant": 1,
        "none": 1,
        "integer": 3,
    }


@pytest.mark.parametrize(
    ("instruction", "expected"),
    [
        ("v_wmma_f32_16x16x16_bf16 v[0:7], v[8:15], v[16:23], v[0:7]", "matrix"),
        ("v_smfmac_f32_16x16x32_f16 v[0:3], v[4:5], v[6:9], v10", "matrix"),
        ("v_maximum3_f32 v0, v1, v2, v3", "float"),
        ("v_max_num_f32_e32 v0, v1, v2", "float"),
        ("v_add_u32_e32 v0, v1, v2", "integer"),
        ("v_add_f32_dpp v0, v1, v2 row_shr:1", "shuffle"),
        ("s_wait_dscnt 0x0", "none"),
        ("s_barrier_signal -1", "barrier"),
        ("buffer_load_dwordx4 v[0:3], v4, s[0:3], 0 offen", "global"),
    ],
)
def test_an_instruction_is_of_its_class(instruction: str, expected: str) -> None:
    assert instruction_classes(f"\t{instruction}\n") == {expected: 1}
