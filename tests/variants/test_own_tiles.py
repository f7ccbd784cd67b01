"""Variants that choose tiles themselves: what is said of these, and whose mistake an impossible one is."""

from dataclasses import replace
from pathlib import Path

import pytest

from harness import plugins
from harness.artifact.artifact import Artifact
from harness.bench.building.returned_artifact import with_choices
from harness.codegen.dialect.context import mlir_context
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.system.errors import BuildError, PluginError, UnsupportedError
from harness.targets.base import TileSizes
from harness.variants import attention_schedule
from harness.variants.flash import Flash
from harness.variants.generated import TileParameters
from harness.variants.schedule import StageRecord, Step
from harness.variants.tiling import Tiling

PROBLEM = AttentionProblem(heads=1, seq_q=128, head_dim=32, dtype="f16")
OWN = {"tile_q": 32, "tile_kv": 16}


class OwnDefaults(TileParameters):
    tile_q: int | None = 32
    tile_kv: int | None = 16


class ByDefault(Flash):
    """Has sizes of its own as its parameters' defaults."""

    parameters = OwnDefaults  # type: ignore[assignment]


class ByAnswer(Flash):
    """Answers with sizes of its own."""

    def tile_sizes(self, case: Case, preferred: TileSizes) -> TileSizes:
        return replace(preferred, query=32, key=16)


class InSteps(Flash):
    """Hands another tiling to its steps."""

    def schedule(self, tiling: Tiling, parameters: TileParameters) -> list[Step]:
        return super().schedule(replace(tiling, query=32, key=16), parameters)


VARIANTS = pytest.mark.parametrize(
    "variant", [ByDefault(), ByAnswer(), InSteps()], ids=lambda v: type(v).__name__
)


def case_of(variant: Flash, target: str) -> Case:
    params = variant.parameters().model_dump(exclude_none=True)
    return Case(problem=PROBLEM, variant="own", target=target, params=params)


def built(variant: Flash, target: str, folder: Path) -> Artifact:
    return with_choices(variant.build(case_of(variant, target), "key", folder), variant)


@VARIANTS
def test_what_is_chosen_are_the_variants_tiles_and_not_the_targets(variant: Flash, tmp_path: Path) -> None:
    artifact = built(variant, "cpu:avx2", tmp_path)
    assert "tensor<32x16xf32>" in (tmp_path / artifact.stage_files["tiled"]).read_text()
    told = {**artifact.case.params, **artifact.chosen}
    assert {name: told[name] for name in OWN} == OWN


@VARIANTS
def test_tiles_that_the_target_cannot_have_are_the_failure_of_who_chose_them(
    variant: Flash, tmp_path: Path
) -> None:
    with pytest.raises(BuildError, match="tile_q=32, tile_kv=16: tile_q 32: expected a multiple of 64"):
        built(variant, "cuda:sm_80", tmp_path)
    asked = case_of(variant, "cuda:sm_80").model_copy(update={"params": {"tile_q": 96}})
    with pytest.raises(UnsupportedError, match="tile_q 96: expected a multiple of 64"):
        Flash().build(asked, "key", tmp_path)


class Peels(Flash):
    """Lets keys that fill no tile follow after the loop."""

    def schedule(self, tiling: Tiling, parameters: TileParameters) -> list[Step]:
        def tile(module: object) -> None:
            attention_schedule.tile_keys(module, tiling, peels_rest=True)  # type: ignore[arg-type]

        steps = super().schedule(tiling, parameters)
        return [replace(step, rewrite=tile) if step.name == "key-loop" else step for step in steps]


def test_tiles_of_a_step_that_the_target_cannot_have_name_the_step(tmp_path: Path) -> None:
    problem = PROBLEM.model_copy(update={"seq_q": 77, "seq_kv": 77})
    case = Case(problem=problem, variant="own", target="cuda:sm_80")
    with pytest.raises(BuildError, match=r'step "key-loop" makes tiles of 13: .* take multiples of 32'):
        Peels().build(case, "key", tmp_path)


@pytest.mark.parametrize(
    ("member", "given", "found"),
    [
        ("tile_sizes", lambda self, case, preferred: (32, 16), "tile_sizes: found tuple, expected TileSizes"),
        (
            "schedule",
            lambda self, tiling, parameters: None,
            "schedule: found NoneType, expected a list of Step",
        ),
        (
            "schedule",
            lambda self, tiling, parameters: [Step("../tiled", "", print)],
            r"schedule: step '\.\./tiled': expected a name that no other stage has, of letters",
        ),
        (
            "schedule",
            lambda self, tiling, parameters: [Step("bufferized", "", print)],
            "schedule: step 'bufferized': expected a name that no other stage has",
        ),
        ("payload", lambda self, tiling: "module {}", "payload: found str, expected Module"),
    ],
)
def test_an_answer_of_another_type_names_the_member(member: str, given: object, found: str) -> None:
    variant = type("Odd", (Flash,), {member: given})()
    with pytest.raises(PluginError, match=f"variant 'own'.*{found}"):
        variant.source(Case(problem=PROBLEM, variant="own", target="cpu:avx2"))


@pytest.mark.parametrize("target", ["cpu:avx2", "cuda:sm_80"])
@pytest.mark.parametrize("name", ["flash", "naive", "unfused"])
def test_the_harnesss_own_variants_make_the_tiles_that_they_are_asked_for(name: str, target: str) -> None:
    variant, case = plugins.variant(name), Case(problem=PROBLEM, variant=name, target=target)
    record = StageRecord()
    with mlir_context():
        variant.kernels(case, record)  # type: ignore[attr-defined]
    tiling = variant.tiling(case)  # type: ignore[attr-defined]
    assert record.tiles == {"tile_q": tiling.query, "tile_kv": tiling.key}
