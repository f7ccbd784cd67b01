"""What is the same code: what runs, and what a plugin's loader may run."""

import json
from pathlib import Path

import pytest

from harness.artifact import binary
from harness.artifact.artifact import Artifact
from harness.artifact.binary import binary_digest
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.system.storage.digests import write_digests

CASE = Case(problem=AttentionProblem(heads=1, seq_q=8, head_dim=8), variant="flash", target="cpu")
OWN = "harness.targets.cpu.executable:load"


def digest(
    folder: Path,
    loader: str = OWN,
    key: str = "k",
    stage: str = "text",
    code: str | None = "machine code",
    **fields: object,
) -> str | None:
    """Return the digest of an artifact of one stage, and of one file beside it."""
    folder = folder / "built"
    folder.mkdir(exist_ok=True)
    stages = {"kernel": "kernel.py"}
    artifact = Artifact(case=CASE, key=key, executor="native", loader=loader, stage_files=stages, **fields)  # type: ignore[arg-type]
    (folder / "kernel.py").write_text(stage)
    if code is not None:
        (folder / "kernels.o").write_text(code)
    write_digests(folder)
    return binary_digest(artifact, folder)


@pytest.fixture
def loader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the loader of a plugin."""
    (tmp_path / "a_plugin_with_a_loader.py").write_text("def load(artifact, folder): ...\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return "a_plugin_with_a_loader:load"


def test_with_a_loader_of_ours_machine_code_and_launch_count_and_no_stages(tmp_path: Path) -> None:
    one = digest(tmp_path)
    assert one is not None
    assert one == digest(tmp_path, key="other", stage="another way")
    assert one != digest(tmp_path, code="other machine code")
    assert one != digest(tmp_path, launch={"threads": 2})


@pytest.mark.parametrize(("file", "counts"), [("kernels.o", True), ("module.vmfb", False)])
def test_an_object_counts_unless_builds_of_the_same_code_differ_in_it(
    tmp_path: Path, file: str, counts: bool
) -> None:
    stages = {"assembly": "kernel.s", "object": file}
    artifact = Artifact(case=CASE, key="k", executor="native", loader=OWN, stage_files=stages)
    digests = set()
    for code in ("one", "another"):
        for name in ("kernel.s", file):
            (tmp_path / name).write_text(code)
        (tmp_path / "emulated.so").write_text("the same")
        write_digests(tmp_path)
        digests.add(binary_digest(artifact, tmp_path))
    assert len(digests) == 1 + counts


def test_the_code_that_launches_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = digest(tmp_path)
    monkeypatch.setattr(binary, "LAUNCHING", binary.LAUNCHING[1:])
    binary._launching_digest.cache_clear()
    assert digest(tmp_path) != one
    monkeypatch.undo()
    binary._launching_digest.cache_clear()
    assert digest(tmp_path) == one


@pytest.mark.parametrize(
    "module",
    [
        "targets.cpu.executable",
        "targets.cuda.device.driver",
        "targets.rocm.device.driver",
        "targets.xegpu.device.driver",
        "targets.xegpu.processor.executor",
        "variants.slowed_call",
        "variants.baselines.iree.calls",
    ],
)
def test_loaders_of_what_is_timed_are_code_that_launches(module: str) -> None:
    file = f"{module.replace('.', '/')}.py"
    assert any(file == place or file.startswith(f"{place}/") for place in binary.LAUNCHING)


def test_with_a_loader_of_a_plugin_another_key_is_another_code(tmp_path: Path, loader: str) -> None:
    """It may run a stage, import by computed names, or choose by parameters: all that is in the key."""
    one = digest(tmp_path, loader)
    assert one is not None
    assert one == digest(tmp_path, loader)
    assert one != digest(tmp_path, loader, key="other")
    assert one != digest(tmp_path, loader, chosen={"tile": 16})


@pytest.mark.parametrize("is_own", [True, False])
def test_code_that_is_not_in_the_folder_has_no_digest(tmp_path: Path, loader: str, is_own: bool) -> None:
    assert digest(tmp_path, OWN if is_own else loader, code=None) is None


def test_a_folder_that_does_not_say_what_it_holds_has_no_digest(tmp_path: Path) -> None:
    artifact = Artifact(case=CASE, key="k", executor="native", loader=OWN)
    assert binary_digest(artifact, tmp_path) is None
    (tmp_path / "digests.json").write_text(json.dumps([]))
    assert binary_digest(artifact, tmp_path) is None
