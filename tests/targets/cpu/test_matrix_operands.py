"""Products of bf16 by a matrix instruction: what is right, what goes another way, and what is said of it."""

from dataclasses import replace

import pytest
from mlir import ir
from sweeps import sweep
from variants.native_runs import build, judge

from harness.codegen.costs.costs import total
from harness.codegen.costs.counter import count
from harness.codegen.dialect.context import mlir_context
from harness.problem.attention_problem import AttentionProblem
from harness.system.errors import UnsupportedError
from harness.targets.cpu import unit_choice
from harness.targets.cpu.chip import chip
from harness.targets.cpu.matrix_units import AMX_F16, VDPBF16PS
from harness.targets.cpu.unit_choice import unit_for

CHIP = "cpu:avx512-bf16"
PROBLEM = AttentionProblem(heads=2, seq_q=100, head_dim=32, causal=True, dtype="bf16")

runs_here = pytest.mark.skipif(
    not chip("avx512-bf16").runs_here, reason="this processor has no vdpbf16ps; what it computes is not seen"
)

FORMS = {
    "narrow": {"head_dim": 24, "causal": False},
    "wide": {"head_dim": 256, "seq_q": 70},
    "joined heads": {"heads": 8, "kv_heads": 2, "seq_q": 3, "seq_kv": 130},
    "biased": {"bias": True, "softcap": 5.0},
    "lengths": {"kv_lengths": (31,), "causal": False},
    "odd width": {"head_dim": 33, "head_dim_v": 16},
    "odd keys": {"seq_q": 33, "seq_kv": 33},
    "one query": {"seq_q": 1, "seq_kv": 130},
}


@runs_here
@pytest.mark.parametrize("form", sweep(list(FORMS), but=["narrow", "lengths", "odd width"]))
def test_attention_is_right(form: str) -> None:
    assert judge("flash", PROBLEM.model_copy(update=FORMS[form]), target=CHIP).first_bad is None


@runs_here
@pytest.mark.parametrize("variant", sweep(["naive", "unfused", "split-head"], but=["split-head"]))
def test_other_variants_are_right(variant: str) -> None:
    width = 64 if variant == "split-head" else None
    problem = PROBLEM.model_copy(update={"model_width": width, "seq_q": 96, "seq_kv": 96})
    assert judge(variant, problem, target=CHIP).first_bad is None


@pytest.mark.parametrize(
    ("form", "unit", "used"),
    [
        ({}, "vdpbf16ps", "vdpbf16ps"),
        ({"seq_kv": 33}, "vdpbf16ps; fma: sums of 33 products, no multiple of 2", "vdpbf16ps"),
        ({"seq_q": 1}, "fma: one query, for which packing V takes longer", "fma"),
    ],
)
def test_a_row_says_what_multiplies_and_why_nothing_faster_does(
    form: dict[str, int], unit: str, used: str
) -> None:
    artifact, _ = build("flash", PROBLEM.model_copy(update=form), target=CHIP)
    assert (artifact.chosen["unit"], artifact.metrics.intrinsics) == (unit, used)


def test_multiply_adds_can_be_asked_for() -> None:
    artifact, folder = build("flash", PROBLEM, target=CHIP, unit="fma")
    assert "unit" not in artifact.chosen
    assert artifact.metrics.intrinsics == "fma"
    assert "matrix-operands" not in artifact.stage_files
    assert "vdpbf16ps" not in (folder / artifact.stage_files["assembly"]).read_text()


def test_products_stay_in_registers() -> None:
    artifact, folder = build("flash", PROBLEM.model_copy(update={"causal": False, "seq_q": 128}), target=CHIP)
    lines = (folder / artifact.stage_files["assembly"]).read_text().splitlines()
    products = [number for number, line in enumerate(lines) if "vdpbf16ps" in line]
    between = [line.split()[0] for line in lines[products[0] : products[15]]]
    assert set(between) <= {"vdpbf16ps", "vbroadcastss", "vpbroadcastd", "vmovups", "vmovdqu64"}


def test_the_stage_multiplies_as_often_as_before() -> None:
    artifact, folder = build("flash", PROBLEM, target=CHIP)
    counts = []
    for stage in ("lanes", "matrix-operands"):
        with mlir_context():
            module = ir.Module.parse((folder / artifact.stage_files[stage]).read_text())
            counts.append(total(count(module)).matmul)
    assert counts[0] == counts[1] > 0


def test_a_unit_that_a_chip_lacks_is_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"^unit=vdpbf16ps: avx2 multiplies no bf16 by it$"):
        build("flash", PROBLEM, target="cpu:avx2", unit="vdpbf16ps")
    with pytest.raises(UnsupportedError, match="multiplies no f16 by it"):
        build("flash", PROBLEM.model_copy(update={"dtype": "f16"}), target=CHIP, unit="vdpbf16ps")


@pytest.mark.parametrize(("rate", "unit"), [(2.0, VDPBF16PS), (0.5, None)])
def test_this_machine_takes_a_unit_where_it_is_worth_it(
    rate: float, unit: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unit_choice, "products_per_fma", lambda unit: rate)
    here = chip("host")
    has_unit = replace(here, features=(here.features | set(VDPBF16PS.features)) - {"amx-tile"})
    assert unit_for(has_unit, "bf16", None) is unit
    assert unit_for(has_unit, "bf16", "vdpbf16ps") is VDPBF16PS
    assert unit_for(has_unit, "f32", None) is None
    assert unit_for(chip("amx"), "f16", None) is AMX_F16
    assert unit_for(replace(chip("amx"), is_host=True), "f16", None) is None
    assert unit_for(chip("avx512-bf16"), "bf16", None) is VDPBF16PS


@runs_here
def test_products_are_counted_in_time() -> None:
    assert 0.2 < unit_choice.products_per_fma(VDPBF16PS) < 8
