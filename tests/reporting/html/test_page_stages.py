"""Which stages a page holds, and the command that shows those of other cases."""

import base64
import gzip
import json
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer.main
from stored_artifacts import store_example
from synthetic_results import make_result

from harness.artifact.cache import ArtifactCache
from harness.bench.row_maker import problem_columns
from harness.cli.commands import app
from harness.ir_view.request import problem_of, settings_of
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import ParameterValue
from harness.reporting.frames import prepare, records
from harness.reporting.html.ir_command import ir_command
from harness.reporting.html.stages import stored_stages
from harness.results.frame import results_frame
from harness.results.result import Result
from harness.system.status import Status


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ArtifactCache:
    monkeypatch.setenv("HARNESS_CACHE_DIR", str(tmp_path / "cache"))
    return ArtifactCache()


def frame_of(*results: Result) -> Any:
    return prepare(results_frame(results))


def texts_of(packed: str) -> dict[str, str]:
    found: dict[str, str] = json.loads(gzip.decompress(base64.b64decode(packed)))
    return found


@pytest.mark.usefixtures("cache")
def test_of_each_variant_a_failure_comes_first() -> None:
    rows = []
    for number, (variant, seq, status) in enumerate(
        [
            ("naive", 64, Status.PASSED),
            ("naive", 128, Status.PASSED),
            ("flash", 64, Status.PASSED),
            ("flash", 128, Status.WRONG),
        ]
    ):
        key = str(number) * 64
        store_example(key, {"payload": key})
        rows.append(make_result(variant, seq, status=status, key=key))
    found = stored_stages(frame_of(*rows))
    assert [case.name.split(" f32")[0] for case in found.cases] == [
        "flash · cpu · b1 h16 s128 d64",
        "naive · cpu · b1 h16 s64 d64",
        "flash · cpu · b1 h16 s64 d64",
        "naive · cpu · b1 h16 s128 d64",
    ]
    assert (found.built, found.example) == (4, None)


@pytest.mark.usefixtures("cache")
def test_what_the_cache_no_longer_has_is_an_example_of_a_command() -> None:
    store_example("1" * 64, {"payload": "here"})
    found = stored_stages(frame_of(make_result(key="1" * 64), make_result(seq=512, key="gone")))
    assert [texts_of(case.packed) for case in found.cases] == [{"payload": "here"}]
    assert found.example is not None
    assert "--seq-q 512" in found.example


def test_folders_of_this_machine_are_not_shown(cache: ArtifactCache) -> None:
    store_example("1" * 64, {"payload": f'file "{cache.root.resolve()}/x" and "{Path.home()}/y"'})
    (case,) = stored_stages(frame_of(make_result(key="1" * 64))).cases
    assert texts_of(case.packed)["payload"] == 'file "<cache>/x" and "~/y"'


PROBLEMS = {
    "plain": {"batch": 1, "heads": 2, "seq_q": 64, "head_dim": 32},
    "grouped": {"heads": 4, "kv_heads": 2, "seq_q": 1, "seq_kv": 64, "head_dim": 32, "head_dim_v": 16},
    "window": {"heads": 2, "seq_q": 64, "head_dim": 32, "window": (8, None), "causal": True},
    "top-left": {"heads": 2, "seq_q": 8, "seq_kv": 64, "head_dim": 32, "causal": True}
    | {"causal_alignment": "top-left"},
    "inputs": {"heads": 2, "seq_q": 64, "head_dim": 32, "mask": True, "mask_axes": "bhqk", "bias": True},
    "numbers": {"heads": 2, "seq_q": 64, "head_dim": 32, "softcap": 30.5, "scale": -0.125, "dtype": "bf16"},
    "outputs": {"heads": 2, "seq_q": 64, "head_dim": 32, "log_sum_exp": True, "sinks": True},
    "lengths": {"batch": 2, "heads": 2, "seq_q": 64, "head_dim": 32, "kv_lengths": (64, 10)},
    "packed": {"heads": 2, "head_dim": 32, "cu_seqlens_q": (0, 5, 9), "cu_seqlens_kv": (0, 5, 9)},
    "projections": {"heads": 2, "seq_q": 64, "head_dim": 32, "model_width": 48, "output_projection": True},
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_command_is_about_the_rows_problem_and_settings(name: str) -> None:
    problem = AttentionProblem.model_validate(PROBLEMS[name])
    params: dict[str, ParameterValue] = {"tile_kv": 32, "division": "final"}
    row = make_result("flash", params=params).model_copy(update=problem_columns(problem) | {"threads": 2})
    other = make_result("naive", params={"tile_q": 8})
    record = next(row for row in records(frame_of(row, other)) if row["variant"] == "flash")

    program, command, variant, *rest = shlex.split(ir_command(record, "tiled"))
    context = typer.main.get_command(app).commands[command].make_context(command, [variant, *rest])  # type: ignore[attr-defined]
    given = {field: value for field, value in context.params.items() if value not in (None, False)}
    options = {field: given[field] for field in given if field in AttentionProblem.model_fields}
    assert (program, command, given["variant"], given["stage"]) == ("harness", "ir", "flash", "tiled")
    assert problem_of(options) == problem
    assert settings_of(given["settings"], "flash", given["target"]) == (params, {"threads": 2})
