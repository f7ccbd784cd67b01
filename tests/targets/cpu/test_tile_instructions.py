"""Attention by AMX's tiles: machine code anywhere, and what it computes, by a model where there are none."""

import re

import pytest
from sweeps import sweep
from variants.native_runs import build, judge

from harness import plugins
from harness.codegen.ir import builder as b
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.system.errors import UnsupportedError
from harness.targets.cpu import chip as chips
from harness.targets.cpu.chip import AVX2, AVX512_BF16, host_features
from harness.targets.cpu.tile_instructions import TileInstructions
from harness.targets.cpu.tile_permission import ask_for_tiles

CHIP = "cpu:amx"
PROBLEM = AttentionProblem(heads=1, seq_q=70, head_dim=32, causal=True, dtype="bf16")

runs_or_is_modelled = pytest.mark.skipif(
    not all(host_features().get(feature, False) for feature in AVX512_BF16),
    reason="this processor lacks AVX512_BF16, which no model stands in for",
)

FORMS = {
    "joined heads": {"heads": 8, "kv_heads": 2, "seq_q": 3, "seq_kv": 130},
    "biased": {"bias": True, "head_dim": 64},
    "odd width": {"head_dim": 80, "head_dim_v": 48},
    "f16": {"dtype": "f16"},
}


@runs_or_is_modelled
@pytest.mark.parametrize("form", sweep(list(FORMS), but=["odd width", "f16"]))
def test_attention_by_tiles_is_right(form: str) -> None:
    problem = PROBLEM.model_copy(update=FORMS[form])
    assert judge("flash", problem, target=CHIP).first_bad is None
    assert build("flash", problem, target=CHIP)[0].metrics.intrinsics == "amx"


def test_f16_takes_three_products_of_its_terms() -> None:
    def products(dtype: str) -> int:
        problem = PROBLEM.model_copy(update={"dtype": dtype})
        artifact, folder = build("flash", problem, target=CHIP)
        return (folder / artifact.stage_files["matrix-operands"]).read_text().count("amx.tile_mulf")

    assert products("f16") == 3 * products("bf16") > 0


@runs_or_is_modelled
def test_a_wrong_tile_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    right = TileInstructions.right
    monkeypatch.setattr(
        TileInstructions, "right", lambda self, factor, pair, column: right(self, factor, b.index(0), column)
    )
    assert not judge("flash", PROBLEM.model_copy(update={"seq_q": 80, "seq_kv": 80}), target=CHIP).ok


def test_products_stay_in_tiles() -> None:
    artifact, folder = build("flash", PROBLEM, target=CHIP)
    assembly = (folder / artifact.stage_files["assembly"]).read_text()
    names = re.findall(r"^\t(t(?:ile|dp)\w+)", assembly, re.MULTILINE)
    for number, name in enumerate(names):
        if name == "tilestored":  # what was stored is not loaded again as it is
            assert names[number - 1] in ("tdpbf16ps", "tilestored")
    assert names.count("tdpbf16ps") >= names.count("tilestored") > 0
    assert "ldtilecfg" in assembly


@pytest.mark.parametrize(
    ("features", "executor", "reason"),
    [
        (AVX512_BF16, "emulator", None),
        (AVX2, "none", "this processor lacks avx512bf16, avx512bw, avx512dq, avx512f, avx512vl"),
    ],
)
def test_where_tiles_are_missing_a_model_runs_the_code_or_a_row_says_why_not(
    features: tuple[str, ...], executor: str, reason: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path
) -> None:
    monkeypatch.setattr(chips, "host_features", lambda: dict.fromkeys(features, True))
    case = Case(problem=PROBLEM.model_copy(update={"seq_q": 16, "seq_kv": 32}), variant="flash", target=CHIP)
    artifact = plugins.variant("flash").build(case, "key", tmp_path)
    assert (artifact.executor, artifact.why_not_run) == (executor, reason)
    assert (plugins.target("cpu").device("amx") == "emulated amx") is (executor == "emulator")


@pytest.mark.skipif(host_features().get("amx-tile", False), reason="this processor has tiles")
def test_tiles_that_the_system_does_not_give_are_a_reason() -> None:
    with pytest.raises(UnsupportedError, match=r"^Linux gives this process no AMX tiles: "):
        ask_for_tiles()
