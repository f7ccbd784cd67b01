import re
from pathlib import Path
from typing import Any

import pytest
from example_cases import PROBLEM, example_case

from harness.artifact.artifact import ARTIFACT_FILE
from harness.artifact.cache import ArtifactCache
from harness.bench.building import case_build
from harness.bench.building.case_build import build, build_case, find_key
from harness.bench.running.check_requests import bind_inputs, load_code
from harness.bench.workers.protocol import Life
from harness.problem.case import Case
from harness.system.errors import BuildError, PluginError, UnsupportedError
from harness.system.storage.digests import DIGESTS_FILE
from harness.variants.flash import Flash
from harness.variants.schedule import StageRecord

pytestmark = pytest.mark.usefixtures("example_plugin")


@pytest.mark.parametrize("change", ["parameters", "variant", "code", "tools", "device", "source"])
def test_the_key_changes_with_all_that_the_build_depends_on(
    change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from attention_example.target import NumpyTarget
    from attention_example.variant import NumpyAttention

    before = find_key(example_case()).key
    assert find_key(example_case()).key == before
    case = example_case()
    if change == "parameters":
        case = example_case(block=8)
    elif change == "variant":
        case = example_case("wrong")
    elif change == "code":
        monkeypatch.setattr(case_build, "code_of_plugin", lambda kind, name: {"attention_example": "other"})
    elif change == "tools":
        monkeypatch.setattr(NumpyAttention, "tool_versions", lambda self: {"numpy": "3"})
    elif change == "device":
        monkeypatch.setattr(NumpyTarget, "device", lambda self, chip: "another machine")
    elif change == "source":
        monkeypatch.setattr(NumpyAttention, "source", lambda self, case: "other code")
    assert find_key(case).key != before


def test_a_build_leaves_a_complete_folder_in_the_cache(tmp_path: Path) -> None:
    built = build_case(example_case(), ArtifactCache(tmp_path))
    assert built.folder.is_relative_to(tmp_path)
    assert {path.name for path in built.folder.iterdir()} == {ARTIFACT_FILE, DIGESTS_FILE, "source.py"}
    assert built.artifact.key == find_key(example_case()).key


@pytest.mark.parametrize(
    ("variant", "error", "message"),
    [
        ("missing-dependency", UnsupportedError, r"install attention-harness\[baselines\]"),
        ("build-error", BuildError, "expected 3 operands"),
        ("abort", BuildError, "crashed: SIGABRT: Assertion"),
    ],
)
def test_a_build_that_fails_raises(variant: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        build(example_case(variant))


@pytest.mark.parametrize(
    ("place", "member", "message"),
    [
        ("NumpyAttention", "source", "source: found NoneType, expected str"),
        ("NumpyExecutable", "bind", "bind: found NoneType, expected BoundCall"),
        (None, "load", "loader attention_example.variant:load: found NoneType, expected Executable"),
    ],
)
def test_what_a_member_must_not_answer_names_the_variant(
    place: str | None, member: str, message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from attention_example import variant

    built = build_case(example_case(), ArtifactCache(tmp_path))
    monkeypatch.setattr(variant if place is None else getattr(variant, place), member, lambda *_: None)

    def use() -> None:
        life = Life()
        load_code(life, built.folder, example_case(), find_key(example_case()).code)
        bind_inputs(life, "normal", 0)

    with pytest.raises(PluginError, match=f"^variant 'numpy-attention': {message}$"):
        use()


def test_kernels_are_generated_once_for_the_key_and_the_build(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:

    generated: list[Case] = []
    generate = Flash.kernels

    def counting(self: Flash, case: Case, record: StageRecord | None = None) -> Any:
        generated.append(case)
        return generate(self, case, record)

    monkeypatch.setattr(Flash, "kernels", counting)
    first, second = (
        Case(problem=PROBLEM, variant="flash", target="cpu", params={"tile_q": rows}) for rows in (4, 8)
    )
    build_case(first, ArtifactCache(tmp_path))
    assert generated == [first]
    find_key(first)
    assert build_case(second, ArtifactCache(tmp_path)).artifact.case == second
    assert generated == [first, first, second]


def test_a_build_of_kept_kernels_is_that_of_new_ones(tmp_path: Path) -> None:
    case = Case(problem=PROBLEM, variant="flash", target="cpu")
    key = find_key(case).key
    kept, new = (build_case(case, ArtifactCache(tmp_path / name), key).folder for name in ("kept", "new"))
    for file in kept.iterdir():
        if file.name not in (ARTIFACT_FILE, DIGESTS_FILE):  # which say how long the stages took
            assert file.read_bytes() == (new / file.name).read_bytes(), file.name


def test_a_build_that_takes_long_is_told_with_its_limit(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(case_build, "PATIENCE_S", 0.0)
    case = example_case("hang-build")
    with pytest.raises(BuildError, match="within the limit of 1 s"):
        build(case, timeout_s=1)
    told = re.escape(f"harness: build: {case.describe()}, since ") + r"\d\d:\d\d:\d\d, for at most 1 s\n"
    assert re.fullmatch(told, capsys.readouterr().err)
