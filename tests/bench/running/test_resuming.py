"""Which of several runs of an experiment `--resume` continues."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from example_results import example_manifest, example_result, failed_result

from harness.bench.running.resuming import progress_of, run_to_resume
from harness.results.run_folder import RunFolder
from harness.system.errors import InputError
from harness.system.machine.gpus import GpuDevice

WHOLE = ("a", "b", "c", "d")


def make_run(root: Path, planned: str, finished: str) -> RunFolder:
    """Write a run that planned some of the cases a … d, and finished some of these."""
    run = RunFolder.create(root, "sweep", example_manifest())
    run.plan(planned, WHOLE)
    for case in finished:
        run.append_result(example_result(case))
    return run


def resumed(root: Path, wanted: str = "abcd", *, timed: bool = True, **now: Any) -> str | None:
    """Return the name of the run that goes on, as which these fields of a manifest describe one now."""
    described = example_manifest().model_copy(update=now)
    run, _ = run_to_resume(root / "sweep", wanted, WHOLE, described, timed=timed)
    return None if run is None else run.run


def why_none(root: Path, *, timed: bool = True, **now: Any) -> str:
    described = example_manifest().model_copy(update=now)
    return run_to_resume(root / "sweep", "abcd", WHOLE, described, timed=timed)[1]


def test_an_unfinished_run_goes_before_a_newer_one_of_a_part(tmp_path: Path) -> None:
    unfinished = make_run(tmp_path, "abcd", finished="a")
    make_run(tmp_path, "b", finished="b")
    assert resumed(tmp_path) == unfinished.run


def test_a_case_that_the_experiment_has_no_longer_leaves_no_run_unfinished(tmp_path: Path) -> None:
    make_run(tmp_path, "abcdx", finished="abcd")
    whole = make_run(tmp_path, "abcd", finished="abcd")
    assert resumed(tmp_path) == whole.run


def test_of_finished_runs_the_newest_that_planned_most_of_what_is_wanted(tmp_path: Path) -> None:
    make_run(tmp_path, "abcd", finished="abcd")
    whole = make_run(tmp_path, "abcd", finished="abcd")
    part = make_run(tmp_path, "b", finished="b")
    assert resumed(tmp_path) == whole.run
    assert resumed(tmp_path, "b") == part.run


def test_the_newest_run_must_be_readable_and_older_ones_need_not(tmp_path: Path) -> None:
    first, second = (make_run(tmp_path, "a", finished="") for _ in range(2))
    (first.path / "manifest.json").write_text("{}")
    assert resumed(tmp_path) == second.run
    (second.path / "manifest.json").write_text("{}")
    with pytest.raises(InputError, match="not a manifest"):
        resumed(tmp_path)


def test_runs_of_other_machines_do_not_go_on_here(tmp_path: Path) -> None:
    here = make_run(tmp_path, "abcd", finished="ab")
    there = make_run(tmp_path, "abcd", finished="a")
    write_manifest(there, device="Fast CPU (avx512, 64 cores)")
    assert resumed(tmp_path) == here.run
    write_manifest(here, gpus=(GpuDevice("Fast GPU", "sm_999"),))
    assert resumed(tmp_path) is None
    assert why_none(tmp_path) == (
        " (a run of another machine: Fast CPU (avx512, 64 cores); "
        f"a run of another machine: {here.manifest.device}, Fast GPU)"
    )


@pytest.mark.parametrize(
    ("changes", "share"),
    [
        ({"cores_usable": 3, "cores_logical": 8}, "3 of 8 processors"),
        ({"cores_usable": 8, "cores_logical": 8, "cpu_quota": 1.5}, "the time of 1.5"),
    ],
)
def test_a_run_that_could_use_more_or_fewer_cores_does_not_go_on(
    tmp_path: Path, changes: dict[str, Any], share: str
) -> None:
    run = make_run(tmp_path, "abcd", finished="a")
    write_manifest(run, machine=run.manifest.machine.model_copy(update=changes))
    assert resumed(tmp_path) is None
    assert why_none(tmp_path) == f" (a run of another machine: {run.manifest.device}, {share})"


def test_a_check_does_not_go_on_with_a_run_that_has_times(tmp_path: Path) -> None:
    timed = make_run(tmp_path, "abcd", finished="")
    timed.append_result(example_result("a", time_s=1.0))
    assert resumed(tmp_path) == timed.run
    assert resumed(tmp_path, timed=False) is None
    assert "a run with times" in why_none(tmp_path, timed=False)


def test_of_whole_runs_the_one_with_times_goes_on_if_times_are_wanted(tmp_path: Path) -> None:
    timed = make_run(tmp_path, "abcd", finished="bcd")
    timed.append_result(example_result("a", time_s=1.0))
    check = make_run(tmp_path, "abcd", finished="")
    for case in "abcd":
        check.append_result(failed_result(case))
    assert resumed(tmp_path) == timed.run
    assert resumed(tmp_path, timed=False) == check.run


@pytest.mark.parametrize(
    "changes",
    [
        {"code_digest": "another"},
        {"plugin_code": {"a_plugin": "another"}},
        {"packages": {"numpy": "1.0"}},
        {"python": "CPython 2.7.18"},
    ],
)
def test_what_came_in_a_bundle_goes_on_with_the_code_that_runs_it_only(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    run = make_run(tmp_path, "abcd", finished="a")
    ran = {"plugin_code": {"a_plugin": "as it was", "b_plugin": "as it is"}}
    write_manifest(run, **ran)
    built = {"built": run.manifest}
    assert resumed(tmp_path, **built, **ran) == run.run
    assert resumed(tmp_path, **built, plugin_code={"b_plugin": "as it is"}) == run.run, "a part"
    assert resumed(tmp_path, **{**ran, **changes}) == run.run, "keys name all code that is not of a bundle"
    assert resumed(tmp_path, **built, **{**ran, **changes}) is None
    write_manifest(run, **ran, **built)
    assert resumed(tmp_path, **{**ran, **changes}) is None, "whatever resumes it"


def write_manifest(run: RunFolder, **changes: Any) -> None:
    manifest = run.manifest.model_copy(update=changes)
    (run.path / "manifest.json").write_text(manifest.model_dump_json())


@pytest.mark.parametrize("finished", ["", "xy"])
def test_a_run_of_another_experiment_of_the_same_name_does_not_go_on(tmp_path: Path, finished: str) -> None:
    part = make_run(tmp_path, "b", finished="b")
    make_run(tmp_path, "xy", finished=finished)
    assert resumed(tmp_path, "a") == part.run
    shutil.rmtree(part.path)
    assert resumed(tmp_path) is None
    assert "a run without any case of this experiment" in why_none(tmp_path)


@pytest.mark.parametrize(("part", "name"), [("profile", "cpu"), ("shard", "2/8")])
def test_a_run_of_another_profile_or_shard_does_not_go_on(tmp_path: Path, part: str, name: str) -> None:
    run = make_run(tmp_path, "abcd", finished="a")
    write_manifest(run, **{part: name})
    assert resumed(tmp_path) is None
    assert why_none(tmp_path) == f" (a run of another {part}: {name})"
    assert resumed(tmp_path, **{part: name}) == run.run


def test_progress_counts_the_planned_cases_that_have_rows(tmp_path: Path) -> None:
    assert progress_of(make_run(tmp_path, "abc", finished="ad")) == "1 of 3 cases finished"


def test_a_plan_grows_with_what_is_asked_for_later(tmp_path: Path) -> None:
    run = make_run(tmp_path, "ab", finished="")
    assert (run.manifest.planned, run.manifest.left_out) == (("a", "b"), 2)
    run.plan("bc", WHOLE)
    assert (RunFolder.open(run.path).manifest.planned, run.manifest.left_out) == (("a", "b", "c"), 1)
