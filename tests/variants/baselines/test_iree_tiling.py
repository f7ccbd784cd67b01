"""Reading IREE's choice for the attention op, and changing it."""

import pytest

from harness.system.errors import BuildError
from harness.variants.baselines.iree.tiling import IreeTiles, configuration

LAYOUT = "#iree_gpu.mma_layout<MFMA_F32_16x16x16_F16, col_major = true>"
VIRTUAL = "#iree_gpu.virtual_mma_layout<VMFMA_F32_16x16x32_F16, col_major = true>"
DERIVED = "promotion_types = [#iree_gpu.derived_thread_config]"


TILES = "promote_operands = [0, 1, 2], reduction = [0, 0, 0, 64, 0], workgroup = [1, 64, 0, 0, 32]"


def configured(
    lowering: str = TILES,
    qk: str = f"mma_kind = {VIRTUAL}, {DERIVED}, subgroup_basis = [[1, 4, 1, 1, 1], [0, 1, 2, 3]]",
    pv: str = f"mma_kind = {LAYOUT}, {DERIVED}, subgroup_basis = [[1, 4, 1, 1, 1], [0, 1, 3, 4]]",
) -> str:
    maps = ", ".join(
        f"affine_map<(d0, d1, d2, d3, d4) -> ({dims})>"
        for dims in ("d0, d1, d2", "d0, d3, d2", "d0, d3, d4", "", "d1, d3", "d0, d1, d4", "d0, d1", "d0, d1")
    )
    return f"""
module {{
  func.func @other() attributes {{translation_info = #iree_codegen.translation_info<pipeline = #other>}} {{
    return
  }}
  func.func @attention() attributes {{translation_info = #iree_codegen.translation_info<pipeline =
      #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 64, {{a = 1}}>}} {{
    %0:3 = iree_linalg_ext.online_attention <indexing_maps = [{maps}], decomposition_config = {{
        pv_attrs = {{lowering_config = #iree_gpu.lowering_config<{{{pv}}}>}},
        qk_attrs = {{lowering_config = #iree_gpu.lowering_config<{{{qk}}}>}}}}>
        {{lowering_config = #iree_gpu.lowering_config<{{{lowering}}}>}} ins(%q : tensor<4xf16>) {{
    ^bb0(%score: f32):
      iree_linalg_ext.yield %score : f32
    }}
    return
  }}
}}
"""


def test_tiles_and_roles_of_dimensions_are_read():
    choice = configuration(configured())
    assert choice.workgroup_tiles == [1, 64, 0, 0, 32]
    assert choice.key_tiles == [0, 0, 0, 64, 0]
    assert (choice.roles.queries, choice.roles.keys, choice.roles.columns) == (1, 3, 4)
    assert choice.lowering.startswith("#iree_gpu.lowering_config<{promote_operands")
    assert choice.decomposition.count("subgroup_basis") == 2
    assert choice.translation.endswith("subgroup_size = 64, {a = 1}>")
    assert choice.tiles == IreeTiles(tile_q=64, tile_kv=64, tile_v=32, subgroups=4)


def test_tiles_are_set():
    choice = configuration(configured()).changed(IreeTiles(tile_q=128, tile_kv=32, tile_v=64))
    assert choice.workgroup_tiles == [1, 128, 0, 0, 64]
    assert choice.key_tiles == [0, 0, 0, 32, 0]
    assert choice.decomposition == configuration(configured()).decomposition


def test_subgroups_are_set_for_both_products_and_for_the_threads():
    choice = configuration(configured()).changed(IreeTiles(subgroups=2))
    assert choice.decomposition.count("subgroup_basis = [[1, 2, 1, 1, 1]") == 2
    assert "workgroup_size = [128, 1, 1]" in choice.translation


def test_an_instruction_is_set_for_both_products_and_keeps_its_orientation():
    choice = configuration(configured()).changed(IreeTiles(intrinsic="MFMA_F32_32x32x8_F16", tile_q=128))
    layout = "#iree_gpu.mma_layout<MFMA_F32_32x32x8_F16, col_major = true>"
    assert choice.decomposition.count(layout) == 2
    assert "virtual" not in choice.decomposition


@pytest.mark.parametrize("tiles", [{"tile_q": 32}, {"tile_q": 96}, {"intrinsic": "MFMA_F32_32x32x8_F16"}])
def test_subgroups_share_queries_evenly(tiles):
    with pytest.raises(BuildError, match=r"a tile of \d+ queries cannot be shared by 4 subgroups"):
        configuration(configured()).changed(IreeTiles(**tiles))


@pytest.mark.parametrize(("columns", "tile"), [(64, 64), (128, 128), (32, 32), (80, 32), (256, 32)])
def test_whole_rows_are_those_that_tiles_divide_and_that_have_room(columns, tile):
    choice = configuration(configured()).with_whole_rows(columns)
    assert choice.workgroup_tiles == [1, 64, 0, 0, tile]
    assert choice.key_tiles == configuration(configured()).key_tiles


def test_without_matrix_instructions_there_are_no_tiles_to_set():
    lanes = "lane_basis = [[1, 1, 1, 2, 16], [1, 0, 3, 4]], thread = [0, 0, 4, 0]"
    choice = configuration(configured(qk=lanes, pv=lanes))
    assert choice.tiles is None
    assert choice.with_whole_rows(64) is choice
    with pytest.raises(BuildError, match="IREE chose no matrix instruction"):
        choice.changed(IreeTiles(tile_q=64))


@pytest.mark.parametrize("text", ["module {\n}\n", configured().replace("decomposition_config", "other")])
def test_ir_without_the_op_or_its_choice_is_refused(text):
    with pytest.raises(BuildError, match="IREE's choice for the attention op cannot be read: no "):
        configuration(text)
