"""`harness compare` on folders of runs."""

import json
from pathlib import Path
from typing import Any

import pytest
from example_results import example_manifest, example_result, example_round, failed_result

from harness.__main__ import main
from harness.results.manifest import part_of
from harness.results.run_folder import RunFolder

CASES = tuple(f"{number:012x}" for number in range(1, 5))
"""The first one is the baseline, whose code never changes."""


def write(folder: Path, *rows: Any, **told: Any) -> Path:
    run = RunFolder.create(folder, "sweep", example_manifest().model_copy(update=told))
    for row in rows:
        run.append_result(row)
    run.append_round(example_round(seconds={case: [0.1, 0.11, 0.12] for case in CASES}))
    run.finish()
    run.release()
    return run.path


def row(case: str, seconds: float, **changes: Any) -> Any:
    speedup = 1.0 / seconds
    times = {"time_s": seconds, "time_low_s": 0.999 * seconds, "time_high_s": 1.001 * seconds}
    ratios = {"speedup": speedup, "speedup_low": 0.999 * speedup, "speedup_high": 1.001 * speedup}
    fields = {**times, **ratios, "device": "a processor", "baseline_case": CASES[0], "baseline": "unfused"}
    return example_result(case, **{**fields, **changes})


BASELINE = row(CASES[0], 1.0, binary_digest="code", variant="unfused")


def compare(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(["compare", *words])
    told = capsys.readouterr()
    return status, told.out, told.err


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return write(tmp_path / "old", BASELINE, *(row(case, 0.5) for case in CASES[1:]))


def test_a_slower_case_and_one_that_is_no_longer_right_are_told_first(tmp_path, old, capsys):
    broken = failed_result(CASES[2], device="a processor")
    new = write(tmp_path / "new", BASELINE, row(CASES[1], 0.6), broken, row(CASES[3], 0.4))
    files = tmp_path / "pull.md", tmp_path / "cases.json"
    status, out, _ = compare(capsys, str(old), str(new), "--markdown", str(files[0]), "--json", str(files[1]))
    assert status == 1
    lines = out.splitlines()
    assert lines[0] == (
        "4 cases in both runs: 1 no longer right, 1 slower, 1 faster, "
        "1 same (1 of identical code, whatever was measured) (slower: by more than 3 %)"
    )
    lost = f"{CASES[2]}  flash · cpu · b1 h2 s64 d16 f32 causal: passed → crashed: signal 11"
    assert lines[2:4] == ["no longer right (1):", f"  {lost}"]
    assert out.index("no longer right (1)") < out.index("slower (1)") < out.index("faster (1)")
    assert f"  {CASES[1]}  1.200× [1.1" in out
    text = files[0].read_text()
    assert text.startswith("## sweep: worse\n")
    assert f"\n- {lost}\n" in text
    (slower,) = (case for case in json.loads(files[1].read_text()) if case["outcome"] == "slower")
    assert (slower["case"], slower["time_s_old"], slower["time_s_new"]) == (CASES[1], 0.5, 0.6)


@pytest.mark.parametrize(
    ("seconds", "options", "expected"),
    [
        (0.535, ["--threshold", "5%"], (1, "1 slower")),
        (0.515, ["--threshold", "5%", "--fail-on", "ambiguous"], (0, "1 slower within the threshold")),
        (0.515, ["--threshold", "5%", "--minimum-effect", "4%"], (0, "4 same")),
        (0.485, ["--threshold", "5%"], (0, "1 faster")),
        (0.485, ["--threshold", "5%", "--minimum-effect", "0.04"], (0, "4 same")),
    ],
)
def test_a_gate_and_a_difference_are_two_questions(tmp_path, old, capsys, seconds, options, expected):
    new = write(tmp_path / "new", BASELINE, row(CASES[1], seconds), *(row(case, 0.5) for case in CASES[2:]))
    status, out, _ = compare(capsys, str(old), str(new), *options)
    assert (status, expected[1] in out) == (expected[0], True), out


@pytest.mark.parametrize("fail_on", ["slower", "ambiguous"])
def test_what_is_no_longer_right_always_fails(tmp_path, old, capsys, fail_on):
    broken = failed_result(CASES[2], device="a processor")
    new = write(tmp_path / "new", BASELINE, row(CASES[1], 0.5), broken, row(CASES[3], 0.5))
    assert compare(capsys, str(old), str(new), "--fail-on", fail_on)[0] == 1


def test_what_is_ambiguous_comes_with_the_commands_that_decide_it(tmp_path, old, capsys):
    unclear = row(CASES[1], 0.52, speedup_low=1.7, speedup_high=2.1)
    new = write(tmp_path / "new", BASELINE, unclear, row(CASES[2], 0.5), row(CASES[3], 0.5))
    status, out, _ = compare(capsys, str(old), str(new), "--threshold", "0.02")
    assert status == 0
    assert "1 ambiguous (slower: by more than 2 %)" in out
    assert "found in nine of ten: a difference of " in out
    assert out.endswith("\ngate: not decided (exit status 0; with --fail-on ambiguous it would be 1)\n")
    failed, told, _ = compare(capsys, str(old), str(new), "--threshold", "0.02", "--fail-on", "ambiguous")
    assert failed == 1
    assert told.endswith("\ngate: not decided (exit status 1)\n")
    commands = [line for line in out.splitlines() if "harness run" in line]
    assert len(commands) == 2
    assert all(line.endswith(f"--only case={CASES[1]},{CASES[0]}") for line in commands)


@pytest.mark.parametrize(
    ("bounds", "options", "is_slower"),
    [((1.87, 1.98), [], True), ((1.84, 2.01), [], False), ((1.87, 1.98), ["--minimum-effect", "2%"], False)],
)
def test_an_ambiguous_case_whose_interval_shows_a_slowdown_says_so(
    tmp_path, old, capsys, bounds, options, is_slower
):
    unclear = row(CASES[1], 0.52, speedup_low=bounds[0], speedup_high=bounds[1])
    new = write(tmp_path / "new", BASELINE, unclear, row(CASES[2], 0.5), row(CASES[3], 0.5))
    out = compare(capsys, str(old), str(new), "--threshold", "5%", *options)[1]
    assert "1 ambiguous" in out
    assert ("slower, perhaps not beyond 5 %" in out) == is_slower


def test_revisions_that_took_turns_are_measured_again_by_one_command(tmp_path, capsys):
    runs = []
    for number, (name, commit, times) in enumerate(
        [("old", "a" * 40, (0.1, 0.12, 0.11)), ("new", "b" * 40, (0.12, 0.11, 0.13))]
    ):
        told = {"git_commit": commit, "named_by": ("sweep.toml",), "command": "harness compare --budget 30"}
        run = RunFolder.open(write(tmp_path / name, **told))
        for place, seconds in enumerate(times):
            taken = {"group": "turns-1", "round": place, "start": place}
            run.append_round(example_round(seconds={CASES[1]: [seconds]}, **taken))
        run.append_result(row(CASES[1], times[0], binary_digest=f"code {number}"))
        runs.append(str(run.path))
    status, out, _ = compare(capsys, *runs, "--threshold", "5%")
    assert (status, "1 ambiguous" in out, "git checkout" in out) == (0, True, False)
    again = (
        f"harness compare sweep.toml --revisions {'a' * 40} {'b' * 40} --threshold 0.05 --minimum-effect 0"
    )
    assert f"  {again} --budget 120 --only case={CASES[1]}" in out


def test_the_commit_of_a_resumed_run_is_that_which_it_was_resumed_with(tmp_path, capsys):
    began = {"git_commit": "0123456789abcdef", "git_dirty": True}
    resumed = part_of(example_manifest().model_copy(update={"git_commit": "fedcba9876543210"}))
    old = write(tmp_path / "old", row(CASES[1], 0.5, baseline_case=None), **began, parts=(resumed,))
    new = write(tmp_path / "new", row(CASES[1], 0.52, baseline_case=None), **began, parts=(resumed,))
    lines = compare(capsys, str(old), str(new))[1].splitlines()
    assert "files of the new run differed from its commit 0123456" in lines
    commands = [line for line in lines if "harness run" in line]
    assert len(commands) == 2
    assert all(line.startswith("  git checkout fedcba9876543210 && ") for line in commands)


def test_a_newest_run_that_nothing_was_timed_in_names_the_one_with_times(tmp_path, old, capsys):
    untimed = dict.fromkeys(NO_TIMES) | {"tflops": None, "fraction_of_peak": None}
    timed = write(tmp_path / "new", BASELINE, *(row(case, 0.5) for case in CASES[1:]))
    checked = write(tmp_path / "new", *(row(case, 0.5, **untimed) for case in CASES[1:]))
    _, out, _ = compare(capsys, str(old), str(checked.parent))
    assert f"taken: {checked}, " in out
    assert f"the newest with times is {timed}" in out
    _, out, _ = compare(capsys, str(old), str(checked))
    assert "taken" not in out


NO_TIMES = dict.fromkeys(
    ["time_s", "time_low_s", "time_high_s", "speedup", "speedup_low", "speedup_high", "baseline_case"]
)


def test_what_failed_in_both_runs_is_counted_and_named(tmp_path, capsys):
    wrong = failed_result(CASES[1], device="a processor", status="wrong", reason="row 3")
    missing = failed_result(CASES[3], device="a processor", status="unsupported", reason="no chip")
    old = write(tmp_path / "old", BASELINE, wrong, failed_result(CASES[2], device="a processor"), missing)
    timed_out = failed_result(CASES[2], device="a processor", status="timed-out", reason="60 s")
    new = write(tmp_path / "new", BASELINE, wrong, timed_out, missing)
    status, out, _ = compare(capsys, str(old), str(new))
    lines = out.splitlines()
    assert (status, lines[0]) == (
        0,
        "4 cases in both runs: 0 no longer right, 0 slower, 2 failed in both runs, "
        "1 same (1 of identical code, whatever was measured), 1 checked in neither run "
        "(slower: by more than 3 %)",
    )
    named = "flash · cpu · b1 h2 s64 d16 f32 causal"
    assert lines[2:-1] == [
        "failed in both runs (2):",
        f"  {CASES[1]}  {named}: wrong: row 3",
        f"  {CASES[2]}  {named}: crashed → timed-out: 60 s",
    ]


NORMAL, LARGE = "normal, seed 0", "normal, large-logits, seed 0"


@pytest.mark.parametrize(
    ("inputs", "count"),
    [((NORMAL, NORMAL, NORMAL), 0), ((NORMAL, LARGE, LARGE), 2), ((None, LARGE, NORMAL), 1)],
)
def test_rows_say_what_they_were_checked_with(tmp_path, capsys, inputs, count):
    """A case that was not checked has no inputs."""

    def run(name: str, *checked_inputs: str | None) -> str:
        told = zip(CASES[1:], checked_inputs, strict=True)
        return str(write(tmp_path / name, *(row(case, 0.5, checked_inputs=inputs) for case, inputs in told)))

    out = compare(capsys, run("before", NORMAL, NORMAL, NORMAL), run("now", *inputs))[1]
    notes = [line for line in out.splitlines() if "[check]" in line]
    assert [line.split()[3] for line in notes] == ([str(count)] if count else [])
    assert all(f"{NORMAL} → {LARGE}" in line for line in notes)


@pytest.mark.parametrize(
    ("status", "device", "expected"),
    [("passed", "another", 2), ("passed", "a processor", 0), ("emulated", "another", 0)],
)
def test_runs_of_another_machine_are_refused_without_times_too(tmp_path, capsys, status, device, expected):
    folders = [
        write(tmp_path / name, *(row(case, 0.5, **NO_TIMES, status=status, device=of) for case in CASES))
        for name, of in (("first", "a processor"), ("second", device))
    ]
    found, _, error = compare(capsys, *map(str, folders))
    assert found == expected
    assert ("measured on another" in error) == (expected == 2)


@pytest.mark.parametrize(
    ("case", "device", "words", "message"),
    [
        (CASES[1], "a processor", ["--threshold", "much"], "'--threshold': found 'much', expected a share"),
        (
            CASES[1],
            "a processor",
            ["--minimum-effect", "5%"],
            "--minimum-effect: found 0.05, expected 0 to the threshold of 0.03",
        ),
        (CASES[1], "another", [], "measured on another, "),
        ("f" * 12, "a processor", [], "it has no case of "),
    ],
)
def test_what_does_not_compare_is_one_line_and_status_2(tmp_path, old, capsys, case, device, words, message):
    new = write(tmp_path / "new", row(case, 0.5, device=device))
    status, _, err = compare(capsys, str(old), str(new), *words)
    assert status == 2
    (line,) = err.splitlines()
    assert message in line
