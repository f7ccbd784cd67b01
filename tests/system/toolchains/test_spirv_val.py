"""The validator of SPIR-V: a stand-in for it on the search path, and the program itself where it is there."""

import shutil
from pathlib import Path

import pytest

from harness import plugins
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.system.errors import BuildError
from harness.system.toolchains.intel import VALIDATOR, validate


@pytest.fixture
def validator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Put a program that says something and ends with a status on the search path."""

    def install(said: str, status: int) -> None:
        program = tmp_path / VALIDATOR
        program.write_text(f"#!/bin/sh\necho '{said}' >&2\nexit {status}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    return install


def test_what_it_refuses_fails_the_build_in_its_words(validator) -> None:
    validator("error: line 0: Invalid SPIR-V magic number.", 1)
    with pytest.raises(BuildError, match=r"spirv-val: line 0: Invalid SPIR-V magic number\."):
        validate(b"1234")


def test_what_it_takes_passes(validator) -> None:
    validator("", 0)
    validate(b"1234")


def test_without_it_nothing_is_validated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    validate(b"1234")


@pytest.mark.skipif(shutil.which(VALIDATOR) is None, reason=f"{VALIDATOR} is not on the search path")
@pytest.mark.parametrize("dtype", ["f16", "bf16"])
@pytest.mark.parametrize("variant", ["flash", "naive", "unfused"])
def test_modules_are_valid(variant: str, dtype: str, tmp_path: Path) -> None:
    problem = AttentionProblem(heads=1, seq_q=100, head_dim=64, dtype=dtype, causal=True)
    case = Case(problem=problem, variant=variant, target="xegpu:bmg")
    plugins.variant(variant).build(case, "key", tmp_path)
    with pytest.raises(BuildError, match="spirv-val: "):
        validate((tmp_path / "kernels.spv").read_bytes()[:-8])
