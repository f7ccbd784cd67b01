"""IREE's attention op taken apart by transform scripts: the forms, and that IREE lowers them."""

import re
from pathlib import Path

import pytest
from sweeps import sweep

from harness.api import BuiltArtifact
from harness.artifact.artifact import Artifact
from harness.emulator import native_library
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.system.errors import BuildError
from harness.system.toolchains.iree import IreeTools
from harness.targets.gpu import target as gpu_target
from harness.variants.baselines.iree.compilation import Compilation
from harness.variants.baselines.iree.decomposed import DECOMPOSITION, NO_PLACE, IreeDecomposed, grid_script
from harness.variants.baselines.iree.payload import attention_op
from harness.variants.baselines.iree.targets import iree_target
from harness.variants.baselines.iree.tiling import Configuration
from harness.variants.baselines.iree.transforms import script
from harness.variants.baselines.iree.variant import Iree

PROBLEM = AttentionProblem(heads=2, seq_q=256, head_dim=64, dtype="f16")


@pytest.fixture(scope="module", autouse=True)
def _build_only():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gpu_target, "devices", lambda name: None)
        patch.setattr(native_library, "compiler", lambda: None)
        yield


def build(folder: Path, target: str = "rocm:gfx942", problem=PROBLEM, variant=None, **params) -> Artifact:
    variant = variant or IreeDecomposed()
    case = Case(problem=problem, variant=variant.name, target=target, params=params)
    return variant.build(case, "key", folder)


@pytest.fixture(scope="module", params=["final", "every-step"])
def built(request, tmp_path_factory) -> BuiltArtifact:
    folder = tmp_path_factory.mktemp("decomposed")
    return BuiltArtifact(build(folder, division=request.param), folder)


def loop_body(text: str) -> str:
    """Return what a key loop repeats."""
    start = text.index("scf.for ")
    return text[start : text.index("scf.yield", start)]


def test_the_sequence_is_grid_online_form_key_loop_and_decomposition(built):
    stages = list(built.stages)
    normalized = ["every-step"] if "every-step" in stages else []
    assert stages == [
        "payload", "configured", "dispatches", "grid", "online", "key-loop", *normalized, "decomposed",
        "llvm", "linked", "optimized", "assembly", "object",
    ]  # fmt: skip
    assert re.search(r"scf\.forall .* in \(2, 4, 1\)", built.stage("grid"))
    assert "iree_linalg_ext.online_attention" in built.stage("online")
    assert "scf.for " not in built.stage("online")
    assert "iree_linalg_ext.online_attention" in loop_body(built.stage("key-loop"))
    assert "iree_linalg_ext" not in built.stage("decomposed")


def test_the_division_stands_after_the_loop_or_in_it(built):
    decomposed = built.stage("decomposed")
    in_loop = loop_body(decomposed).count("arith.divf")
    every_step = "every-step" in built.stages
    assert in_loop == (1 if every_step else 0)
    assert decomposed.count("arith.divf") == 1
    if not every_step:
        return
    body = loop_body(built.stage("every-step"))
    before, _, after = body.partition("iree_linalg_ext.online_attention")
    assert before.count("arith.mulf") == 1
    assert "arith.divf" in after
    assert "func.call" not in built.stage("every-step")


def test_the_sequence_gives_what_iree_gives(built, tmp_path):
    assert built.metrics.intrinsics == "v_mfma_f32_16x16x16_f16"
    if "every-step" in built.stages:
        pytest.skip("IREE divides once")
    theirs = build(tmp_path, variant=Iree())
    assert built.metrics == theirs.metrics


@pytest.mark.parametrize("dtype", sweep(["bf16", "f32"], but=["bf16"]))
def test_other_dtypes_are_rounded_after_the_loop(dtype, tmp_path):
    problem = PROBLEM.model_copy(update={"dtype": dtype})
    artifact = build(tmp_path, problem=problem, division="every-step")
    assert artifact.refusal is None
    assert artifact.metrics.intrinsics.startswith("v_mfma_f32")


def test_tiles_are_set_for_grid_and_loop(tmp_path):
    artifact = build(tmp_path, tile_q=128, tile_kv=32)
    built = BuiltArtifact(artifact, tmp_path)
    assert re.search(r"scf\.forall .* in \(2, 2, 1\)", built.stage("grid"))
    assert "step %c32" in built.stage("key-loop")


def test_a_refusal_keeps_the_forms(tmp_path):
    artifact = build(tmp_path, division="every-step", tile_kv=256)
    assert artifact.refusal == (
        "all keys are one tile, after which the division is final: set a smaller tile_kv"
    )
    assert list(artifact.stage_files)[-1] == "key-loop"


def test_iree_refuses_the_key_loop_for_processors(tmp_path):
    """Once it does not, `supports` is to say so."""
    problem, target = AttentionProblem(heads=2, seq_q=64, seq_kv=128, head_dim=32), iree_target("cpu:avx2")
    tiles = "workgroup = [1, 32, 0, 0, 0], reduction = [0, 0, 0, 64, 0]"
    pipeline = "#iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<LinalgExtTileAndVectorize>>"
    chosen = Configuration(1, 3, 4, tiles, "{}", pipeline)
    compilation = Compilation(tmp_path, target, IreeTools())
    compilation.start(target.module(attention_op(problem)))
    compilation.advance("dispatches")
    compilation.transform("grid", grid_script(chosen))
    compilation.transform("online", script("online"))
    compilation.transform("key-loop", script("key_loop", tile_sizes=chosen.key_tiles))
    compilation.transform("decomposed", kernel_passes=DECOMPOSITION)
    assert "linalg.generic" in loop_body(compilation.text("decomposed"))
    with pytest.raises(BuildError, match=re.escape(NO_PLACE)):
        compilation.finish()
    assert NO_PLACE in str(IreeDecomposed().supports(problem, "cpu:avx2"))


def test_more_than_three_tiled_dimensions_share_the_last_of_the_grid():
    choice = Configuration(3, 5, 6, "#a<{workgroup = [1, 1, 1, 64, 0, 0, 32]}>", "{}", "#b<>")
    mapping = "mapping = [" + ", ".join(
        f"#iree_codegen.workgroup_mapping<{dimension}>" for dimension in ("z:2", "z:1", "z", "y", "x")
    )
    assert mapping in grid_script(choice)
