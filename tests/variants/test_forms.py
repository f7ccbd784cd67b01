"""The structure of the tiled forms before any target sees them."""

import re

import pytest
from payloads.ir_checks import check_ir
from variants.forms import VARIANTS, stages, tiled


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
def test_is_valid_for_ragged_grouped_causal_problems(name, dtype):
    tiled(name, heads=4, kv_heads=2, seq_q=33, seq_kv=29, head_dim_v=7, causal=True, dtype=dtype)


def test_flash_carries_maximum_sum_and_output_through_one_key_loop():
    text = tiled("flash")
    assert text.count("scf.for ") == 1
    check_ir(
        text,
        """
        CHECK: scf.forall {{.*}} in (1, 2, 2) shared_outs
        CHECK: [[OUTPUT:%.*]] = linalg.fill {{.*}}tensor<16x4xf32>
        CHECK: [[MAXIMUM:%.*]] = linalg.fill {{.*}}tensor<16xf32>
        CHECK: [[SUM:%.*]] = linalg.fill {{.*}}tensor<16xf32>
        CHECK: scf.for {{.*}} iter_args({{.*}} = [[OUTPUT]], {{.*}} = [[MAXIMUM]], {{.*}} = [[SUM]])
        CHECK: linalg.generic {{.*}}["parallel", "parallel", "reduction"]{{.*}}outs({{.*}}tensor<16x8xf32>)
        CHECK: arith.maximumf
        CHECK: linalg.generic {{.*}}["parallel", "parallel", "reduction"]{{.*}}outs({{.*}}tensor<16x4xf32>)
        CHECK: scf.yield {{.*}} : tensor<16x4xf32>, tensor<16xf32>, tensor<16xf32>
        """,
    )


def test_flash_divides_once_after_the_key_loop():
    text = tiled("flash")
    assert text.count("arith.divf") == 1
    assert text.index("scf.yield") < text.index("arith.divf")


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("division", ["final", "every-step"])
def test_no_stage_of_flash_from_the_key_loop_on_holds_a_whole_row_of_scores(causal, division):
    texts = stages("flash", params={"division": division}, causal=causal)
    names = list(texts)
    for name in names[names.index("key-loop") :]:
        shapes = {tuple(map(int, s.split("x"))) for s in re.findall(r"tensor<([\dx]+)xf32>", texts[name])}
        assert not [shape for shape in shapes if len(shape) == 2 and 24 in shape], name


def test_flash_can_divide_at_every_step():
    texts = stages("flash", params={"division": "every-step"})
    assert "final-division" not in texts
    assert texts["tiled"].rindex("arith.divf") < texts["tiled"].index("scf.yield")


def test_flash_masks_only_the_tiles_that_the_causal_mask_cuts():
    text = tiled("flash", causal=True)
    assert text.count("scf.for ") == 2
    check_ir(
        text,
        """
        CHECK-DAG: [[WHOLE:#.*]] = affine_map<(d0) -> (d0 floordiv 8)>
        CHECK: affine.apply [[WHOLE]]
        CHECK: scf.for {{.*}} = {{.*}} to [[CUT:%.*]] step
        CHECK-NOT: linalg.index
        CHECK: scf.for {{.*}} = [[CUT]] to
        CHECK: linalg.index
        CHECK: 0xFF800000
        """,
    )


def test_flash_shifts_the_last_ragged_key_tile_back_and_hides_what_it_repeats():
    check_ir(
        tiled("flash", seq_kv=20),
        """
        CHECK: [[START:#.*]] = affine_map<(d0) -> (d0, 12)>
        CHECK: scf.for
        CHECK-NOT: affine.min
        CHECK-NOT: linalg.index
        CHECK: scf.for
        CHECK: affine.min [[START]]
        CHECK: linalg.index 1
        CHECK: arith.cmpi sge
        """,
    )


def test_naive_recomputes_the_row_statistics_for_every_key_tile():
    check_ir(
        tiled("naive"),
        """
        CHECK: scf.forall
        CHECK: [[OUTPUT:%.*]] = linalg.fill {{.*}}tensor<16x4xf32>
        CHECK: scf.for {{.*}} iter_args([[TOTAL:%.*]] = [[OUTPUT]])
        CHECK: tensor.empty() : tensor<16x24xf32>
        CHECK: scf.for
        CHECK: linalg.generic {{.*}}["parallel", "parallel", "reduction"]{{.*}}outs({{.*}}tensor<16x8xf32>)
        CHECK: scf.yield
        CHECK: arith.maximumf
        CHECK: math.exp2
        CHECK: ["parallel", "reduction"]{{.*}}tensor<16x24xf32>) outs({{.*}}tensor<16xf32>)
        CHECK: arith.addf
        CHECK: linalg.generic {{.*}}["parallel", "parallel", "reduction"]{{.*}}outs({{.*}}tensor<16x8xf32>)
        CHECK: math.exp2
        CHECK: arith.divf
        CHECK: ["parallel", "parallel", "reduction"]{{.*}}outs([[TOTAL]] : tensor<16x4xf32>)
        CHECK: scf.yield
        CHECK: scf.forall.in_parallel
        """,
    )


def test_naive_starts_the_output_at_zero_outside_the_key_loop():
    text = tiled("naive")
    key_loop = text.index("scf.for ")
    assert [match.start() < key_loop for match in re.finditer("linalg.fill .*tensor<16x4xf32>", text)] == [
        True
    ]


def test_unfused_is_three_kernels_around_the_score_matrix():
    check_ir(
        tiled("unfused", dtype="f16"),
        """
        CHECK-LABEL: func.func @scores(
        CHECK-SAME: %arg2: tensor<1x2x2x16x24xf32> {{{.*}}harness.free_layout}) -> tensor<1x2x2x16x24xf32>
        CHECK: ["parallel", "parallel", "reduction"]
        CHECK-LABEL: func.func @softmax(
        CHECK-SAME: %arg0: tensor<1x2x2x16x24xf32> {{{.*}}harness.free_layout}) -> tensor<1x2x2x16x24xf32>
        CHECK: arith.maximumf
        CHECK: math.exp2
        CHECK: arith.divf
        CHECK-LABEL: func.func @values(
        CHECK-SAME: %arg0: tensor<1x2x2x16x24xf32> {{{.*}}harness.free_layout}
        CHECK-SAME: -> tensor<1x2x32x4xf16>
        CHECK: ["parallel", "parallel", "reduction"]
        """,
    )


def test_grouped_queries_read_the_keys_of_their_group():
    check_ir(
        tiled("flash", heads=6, kv_heads=2),
        """
        CHECK: [[GROUP:#.*]] = affine_map<(d0) -> (d0 floordiv 3)>
        CHECK: scf.forall ([[BATCH:%.*]], [[HEAD:%.*]], {{%.*}}) in (1, 6, 2)
        CHECK: tensor.extract_slice %arg0{{\\[}}[[BATCH]], [[HEAD]],
        CHECK: [[KV_HEAD:%.*]] = affine.apply [[GROUP]]([[HEAD]])
        CHECK: tensor.extract_slice %arg1{{\\[}}[[BATCH]], [[KV_HEAD]],
        CHECK: tensor.extract_slice %arg2{{\\[}}[[BATCH]], [[KV_HEAD]],
        """,
    )


@pytest.mark.parametrize(
    ("scale", "factor"), [(0.5, "0.72134751"), (-0.5, "1.44269502"), (0.0, "1.44269502")]
)
def test_a_positive_scale_is_left_to_the_exponential(scale, factor):
    check_ir(tiled("flash", scale=scale), f"CHECK: math.exp2\nCHECK: arith.constant {factor} : f32")


@pytest.mark.parametrize("scale", [-0.5, 0.0])
def test_any_other_scale_multiplies_the_scores(scale):
    literal = "-5.000000e-01" if scale else "0.000000e+00"
    check_ir(
        tiled("flash", scale=scale),
        f"""
        CHECK: scf.for
        CHECK: [[SCALE:%.*]] = arith.constant {literal} : f32
        CHECK: arith.mulf {{{{.*}}}}, [[SCALE]] : f32
        CHECK: scf.yield
        """,
    )
