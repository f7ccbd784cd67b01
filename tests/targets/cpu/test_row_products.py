"""One query of a head: keys in vector lanes, computed by machine code and judged by the oracle."""

from pathlib import Path

import pytest
from codegen.payloads.ir_checks import check_ir
from sweeps import sweep
from variants.native_runs import judge

from harness import plugins
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case

WIDTHS = {
    "64": (64, 64),
    "80 and 24": (80, 24),
    "20 and 12": (20, 12),
    "odd": (5, 3),
    "one": (1, 1),
    "long": (576, 512),
}


def one_query(**fields: object) -> AttentionProblem:
    return AttentionProblem(**{"heads": 3, "seq_q": 1, "seq_kv": 150, "head_dim": 32, **fields})


@pytest.mark.parametrize("widths", sweep(WIDTHS, but=["odd", "long"]))
@pytest.mark.parametrize("dtype", sweep(["f32", "f16", "bf16"], but=["bf16"]))
def test_rows_of_any_width_are_right(widths: str, dtype: str) -> None:
    width, width_v = WIDTHS[widths]
    problem = one_query(head_dim=width, head_dim_v=width_v, dtype=dtype)
    assert judge("flash", problem).first_bad is None


@pytest.mark.parametrize("keys", sweep([1, 3, 31, 32, 33, 64, 1000], but=[33]))
@pytest.mark.parametrize("variant", ["flash", "naive", "unfused"])
def test_any_number_of_keys_is_right(variant: str, keys: int) -> None:
    assert judge(variant, one_query(seq_kv=keys), "large-logits").first_bad is None


@pytest.mark.parametrize("params", [{"kv_splits": 3}, {"tile_kv": 48}, {"division": "every-step"}], ids=str)
def test_tiles_and_parts_of_the_keys_are_right(params: dict[str, object]) -> None:
    assert judge("flash", one_query(window=(99, 0)), **params).first_bad is None


def test_k_is_read_row_by_row_and_not_transposed(tmp_path: Path) -> None:
    case = Case(problem=one_query(head_dim=64), variant="flash", target="cpu:avx512")
    artifact = plugins.variant("flash").build(case, "key", tmp_path)
    text = (tmp_path / artifact.stage_files["vectorized"]).read_text()
    check_ir(
        text,
        """
        CHECK: scf.for {{.*}} step %c32
        CHECK: scf.for {{.*}} step %c1
        CHECK-COUNT-4: vector.transfer_read {{.*}} vector<1x16xf32>
        CHECK: vector.transpose {{.*}} vector<16x16xf32>
        """,
    )
    assert "vector<16x64xf32>" not in text


@pytest.mark.parametrize(("queries", "group"), [(2, 1), (1, 2)])
def test_several_queries_that_share_keys_lie_in_lanes(queries: int, group: int) -> None:
    problem = AttentionProblem(heads=2, kv_heads=2 // group, seq_q=queries, seq_kv=64, head_dim=32)
    assert plugins.target("cpu").tile_sizes("avx2", problem).query_multiple == 8
    assert plugins.target("cpu").tile_sizes("avx2", one_query()).query_multiple == 1
    assert judge("flash", problem).first_bad is None
