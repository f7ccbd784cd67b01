"""A worker imports what its parent does, wherever that finds it, and Python's own modules first."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import harness
from harness.bench.workers.import_path import IMPORT_PATH, take_import_path

SHADOWS = ("types", "signal", "random", "queue", "secrets")
"""Modules that a file beside a script may be called like."""
SCRIPT = """
import sys
{first}
sys.path.append({appended!r})
import told

from harness.bench.workers.process import WorkerProcess
from harness.bench.building.case_build import key_request
from functools import partial
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case

{then}
case = Case(problem=AttentionProblem(heads=1, seq_q=8, head_dim=8), variant="flash", target="cpu")
with WorkerProcess(modules=["told", "later"]) as worker:
    worker.request(partial(key_request, case=case), 120)
"""
TELLS = "import os\nwith open(os.environ['TOLD'], 'a') as file:\n    print(__file__, file=file)\n"
PACKAGE = Path(harness.__file__).parents[1]


def told(
    tmp_path: Path, own: Path, first: str = "", then: str = "", options: tuple[str, ...] = ()
) -> list[str]:
    """Return which files this process and its worker import, of a script in the folder `own`."""
    installed, appended = tmp_path / "installed", tmp_path / "appended"
    for folder, names in ((own, ["told"]), (installed, ["told"]), (appended, ["told", "later"])):
        folder.mkdir(exist_ok=True)
        for name in names:
            (folder / f"{name}.py").write_text(TELLS)
    script = SCRIPT.format(appended=str(appended), first=first, then=then)
    path = os.pathsep.join([str(installed), str(PACKAGE)])
    environment = {**os.environ, "PYTHONPATH": path, "TOLD": str(tmp_path / "told.txt")}
    environment["HARNESS_CACHE_DIR"] = str(tmp_path / "cache")
    command = [sys.executable, *options, "-c", script]
    ended = subprocess.run(command, cwd=own, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return (tmp_path / "told.txt").read_text().split()


def test_a_worker_finds_what_its_parent_does_wherever_that_goes(tmp_path: Path) -> None:
    own, appended = tmp_path / "own", tmp_path / "appended"
    found = told(tmp_path, own, then="import os; os.chdir('/')")
    assert found == [str(own / "told.py"), str(own / "told.py"), str(appended / "later.py")]


@pytest.mark.sweep
def test_files_that_are_named_like_python_s_own_modules_hide_none_in_a_worker(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    for name in SHADOWS:
        (own / f"{name}.py").write_text("raise ImportError('not this one')\n")
    later = f"import {', '.join(SHADOWS)}, harness.bench.workers.process; sys.path.insert(0, {str(own)!r})"
    assert told(tmp_path, own, first=later, options=("-P",))[1] == str(own / "told.py")


def test_the_folders_of_a_worker_follow_python_s_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    standard = os.path.dirname(os.__file__)
    monkeypatch.setenv(IMPORT_PATH, json.dumps(["/own", standard, "/added", "/site"]))
    monkeypatch.setattr(sys, "path", ["/asked", standard, "/site", "/own"])
    take_import_path()
    assert sys.path == [standard, "/own", "/added", "/site", "/asked"]
