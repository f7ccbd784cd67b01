"""What is the same code: what runs, and of stages only what is not there to be read alone."""

from pathlib import Path

import pytest

from harness.artifact.artifact import Artifact
from harness.artifact.binary import binary_digest
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.storage.digests import write_digests

CASE = Case(problem=AttentionProblem(heads=1, seq_q=8, head_dim=8), variant="flash", target="cpu")
LOADER = "harness.targets.cpu.executable:load"


def digest(folder: Path, *, are_stages_run: bool, stage: str, launch: str | None = "{}") -> str | None:
    """Return the digest of an artifact of one stage, `kernel.py`, and of one file beside it."""
    artifact = Artifact(
        case=CASE,
        key="k",
        executor="native",
        loader=LOADER,
        stage_files={"kernel": "kernel.py"},
        are_stages_run=are_stages_run,
    )
    folder.mkdir(parents=True)
    (folder / "kernel.py").write_text(stage)
    if launch is not None:
        (folder / "launch.json").write_text(launch)
    write_digests(folder)
    return binary_digest(artifact, folder)


@pytest.mark.parametrize("are_stages_run", [True, False])
def test_another_stage_is_another_code_unless_it_is_there_to_be_read(
    tmp_path: Path, are_stages_run: bool
) -> None:
    one, same, other, launched = (
        digest(tmp_path / name, are_stages_run=are_stages_run, stage=stage, launch=launch)
        for name, stage, launch in [
            ("one", "slow", "{}"),
            ("same", "slow", "{}"),
            ("other", "fast", "{}"),
            ("launched", "slow", "[]"),
        ]
    )
    assert one is not None
    assert one == same
    assert (one == other) != are_stages_run
    assert one != launched


def test_code_that_is_not_in_the_folder_has_no_digest(tmp_path: Path) -> None:
    assert digest(tmp_path / "read", are_stages_run=False, stage="text", launch=None) is None
    assert digest(tmp_path / "run", are_stages_run=True, stage="text", launch=None) is not None


def test_artifacts_of_plugins_run_their_stages_unless_they_say_otherwise() -> None:
    assert Artifact(case=CASE, key="k", executor="native", loader=LOADER).are_stages_run
