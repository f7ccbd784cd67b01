"""No wrong kernel passes the shipped experiments: bugs planted into code generation, each seen by a case."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from caches import empty_cache
from planted_kernel_bugs import BUGS, FOLDER, PlantedBug, case_of, planted

REQUESTS = sorted({(bug.experiment, bug.only) for bug in BUGS})


def check(experiment: str, only: tuple[str, ...], folder: Path, site: Path | None) -> tuple[int, dict]:
    """Return the exit status of `harness check` for one case, and its row."""
    environment = {**os.environ, "HARNESS_CACHE_DIR": str(empty_cache(folder / "cache"))}
    if site is not None:
        environment["PYTHONPATH"] = str(site)
    command = [sys.executable, "-m", "harness", "check", str(FOLDER / f"{experiment}.toml"), "--plain"]
    command += ["--out", str(folder / "out"), *(word for text in only for word in ("--only", text))]
    ended = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True)
    journals = list(folder.glob("out/*/*/results.jsonl"))
    assert len(journals) == 1, ended.stderr
    (line,) = journals[0].read_text(encoding="utf-8").splitlines()
    return ended.returncode, json.loads(line)


def test_every_bug_is_planted_in_one_place(tmp_path: Path) -> None:
    for number, bug in enumerate(BUGS):
        planted(bug, tmp_path / str(number))


@pytest.mark.sweep
def test_every_bug_has_one_case() -> None:
    for bug in BUGS:
        case_of(bug)


@pytest.mark.slow
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: f"{bug.experiment}: {bug.what}")
def test_a_planted_bug_makes_its_case_wrong(bug: PlantedBug, tmp_path: Path) -> None:
    planted(bug, tmp_path / "site")
    status, row = check(bug.experiment, bug.only, tmp_path, tmp_path / "site")
    assert (status, row["status"]) == (1, "wrong"), row
    assert bug.shown_by in row["reason"]


@pytest.mark.slow
@pytest.mark.parametrize(("experiment", "only"), REQUESTS, ids=str)
def test_the_case_passes_without_the_bug(experiment: str, only: tuple[str, ...], tmp_path: Path) -> None:
    status, row = check(experiment, only, tmp_path, site=None)
    assert (status, row["status"]) in ((0, "passed"), (0, "emulated")), row
