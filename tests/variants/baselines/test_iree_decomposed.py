"""IREE's attention op taken apart by transform scripts: the forms, and that IREE lowers them."""

import re
from pathlib import Path

import pytest
from sweeps import sweep

from harness.api import BuiltArtifact
from harness.artifact.artifact import Artifact
from harness.emulator import native_library
from harness.oracle.expected import expect
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.problem.inputs import make_inputs
from harness.system.errors import BuildError, UnsupportedError
from harness.targets.gpu import target as gpu_target
from harness.variants.baselines.iree.calls import load
from harness.variants.baselines.iree.decomposed import NO_BOOLEANS, IreeDecomposed, grid_script
from harness.variants.baselines.iree.tiling import Configuration, Roles
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


PROCESSOR_FORMS = {
    "full": {"dtype": "f32"},
    "one key tile": {"dtype": "f32", "seq_kv": 40},
    "causal, bias": {"dtype": "f16", "causal": True, "bias": True},
    "grouped, bias": {"dtype": "bf16", "heads": 4, "bias": True, "batch": 2},
    "odd lengths, cap": {"dtype": "f32", "seq_q": 77, "seq_kv": 130, "softcap": 5.0},
}


@pytest.mark.parametrize("form", sweep(PROCESSOR_FORMS, but=["full", "grouped, bias"]))
def test_processors_compute_attention(form, tmp_path):
    fields = {"heads": 2, "kv_heads": 2, "seq_q": 64, "seq_kv": 128, "head_dim": 32, **PROCESSOR_FORMS[form]}
    problem = AttentionProblem(**fields)
    assert IreeDecomposed().supports(problem, "cpu") is None
    built = BuiltArtifact(build(tmp_path, "cpu", problem), tmp_path)
    assert ("scf.for " in built.stage("key-loop")) == (problem.seq_kv > 64)
    inputs = make_inputs(problem)
    call = load(built.artifact, tmp_path).bind(inputs)
    call.poison()
    call.run()
    assert expect(inputs, problem).check_outputs(call.outputs()).ok


@pytest.mark.parametrize(
    ("params", "reason"),
    [({"tile_q": 3}, "tile_q 3: a tile that does not divide 64"), ({"subgroups": 2}, "GPUs")],
)
def test_tiles_that_processors_do_not_have_are_unsupported(params, reason, tmp_path):
    problem = AttentionProblem(heads=1, seq_q=64, head_dim=32)
    with pytest.raises(UnsupportedError, match=reason):
        build(tmp_path, "cpu", problem, **params)


def test_processors_have_no_boolean_masks_and_iree_says_why(tmp_path):
    """Once IREE compiles them, `supports` is to say so."""
    problem = AttentionProblem(heads=1, seq_q=64, head_dim=32, causal=True)
    assert NO_BOOLEANS in str(IreeDecomposed().supports(problem, "cpu"))
    with pytest.raises(BuildError, match=re.escape(NO_BOOLEANS)):
        build(tmp_path, "cpu", problem)


def test_more_than_three_tiled_dimensions_share_the_last_of_the_grid():
    choice = Configuration(
        Roles(3, 5, 6, (0, 1, 2, 3, 6), 7), "#a<{workgroup = [1, 1, 1, 64, 0, 0, 32]}>", "{}", "#b<>"
    )
    mapping = "mapping = [" + ", ".join(
        f"#iree_codegen.workgroup_mapping<{dimension}>" for dimension in ("z:2", "z:1", "z", "y", "x")
    )
    assert mapping in grid_script(choice)
