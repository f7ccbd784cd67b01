"""The last stages of builds, `assembly` and `object` on every target, and what else these are called."""

from pathlib import Path

import pytest
from emulated_runs import built

from harness.__main__ import main
from harness.api import BuiltArtifact
from harness.problem.attention_problem import AttentionProblem
from harness.system.toolchains.nvidia import program

PROBLEM = AttentionProblem(heads=1, seq_q=64, head_dim=32, dtype="f16")
CODE_FOR_NVIDIA = "kernels.ptx" if program("ptxas") is None else "kernels.cubin"
BUILDS = [
    ("flash", "cpu:avx2", "assembly", "kernels.o"),
    ("flash", "cuda:sm_80", "ptx", CODE_FOR_NVIDIA),
    ("flash", "rocm:gfx942", "rocmasm", "kernels.hsaco"),
    ("flash", "xegpu:bmg", "spirv", "kernels.spv"),
    ("iree-unfused", "cpu:avx2", "assembly", "module.vmfb"),
    ("iree-unfused", "cuda:sm_80", "ptx", "module.vmfb"),
    ("iree-unfused", "rocm:gfx942", "rocmasm", "module.vmfb"),
]


@pytest.mark.parametrize(("variant", "target", "old_name", "file"), BUILDS)
def test_the_last_stages_have_one_name_on_all_targets(
    variant: str,
    target: str,
    old_name: str,
    file: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    artifact, folder = built(PROBLEM, target, variant)
    monkeypatch.setattr("harness.api.build", lambda *_, **__: BuiltArtifact(artifact, folder))

    def shown(*options: str) -> str:
        assert main(["ir", variant, "--target", target, *options]) == 0
        return capsys.readouterr().out

    names = [name for name in artifact.stage_files if name != "emulated"]
    assert names[-2:] == ["assembly", "object"] or names[-3:] == ["assembly", "assembled", "object"]
    assembly = shown("--stage", "assembly")
    assert len(assembly.splitlines()) > 50
    assert shown("--stage", old_name) == assembly
    assert shown("--stage", "object", "--out", str(tmp_path / "code")) == ""
    assert (tmp_path / "code").read_bytes() == (folder / file).read_bytes()
    assert shown("--stage", "object").startswith((f"{file}: ", "//"))
    if file == "module.vmfb":
        assert shown("--stage", "module") == shown("--stage", "object")


@pytest.mark.parametrize("options", [[], ["--stage", "assembly", "--counts"]])
def test_what_is_written_is_the_output_of_one_stage(
    options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = BuiltArtifact(*built(PROBLEM, "cpu:avx2"))
    monkeypatch.setattr("harness.api.build", lambda *_, **__: made)
    assert main(["ir", "flash", "--target", "cpu:avx2", *options, "--out", str(tmp_path / "code")]) == 2
    assert capsys.readouterr().err.startswith("harness: --out: expected with --stage")
    assert list(tmp_path.iterdir()) == []
