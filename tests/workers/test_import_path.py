"""A worker imports what its parent does, wherever that finds it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.processes.guardian import LATER_IMPORTS
from harness.workers.import_path import import_environment

SCRIPT = """
import subprocess, sys

from harness.processes import guardian
from harness.workers.process import worker_environment

sys.path.append({appended!r})
import told

print(told.__file__, flush=True)
for module in ("told", "later"):
    subprocess.run(guardian.command("module", module, []), env=worker_environment(None), cwd="/", check=True)
"""


def test_a_worker_finds_the_modules_beside_a_script_and_those_of_folders_that_were_appended(
    tmp_path: Path,
) -> None:
    own, installed, appended = (tmp_path / name for name in ("own", "installed", "appended"))
    for folder, names in ((own, ["told"]), (installed, ["told"]), (appended, ["told", "later"])):
        folder.mkdir()
        for name in names:
            (folder / f"{name}.py").write_text("if __name__ == '__main__':\n    print(__file__)\n")
    (own / "script.py").write_text(SCRIPT.format(appended=str(appended)))
    path = os.pathsep.join([str(installed), str(Path(__file__).parents[2])])
    environment = {**os.environ, "PYTHONPATH": path}
    ended = subprocess.run(
        [sys.executable, str(own / "script.py")], env=environment, capture_output=True, text=True
    )
    assert ended.stdout.split() == [str(own / "told.py")] * 2 + [str(appended / "later.py")], ended.stderr


def test_the_import_path_is_split_at_pythons_own_modules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("before", "behind", "asked", "a:colon")
    before, behind, asked, colon = (tmp_path / name for name in names)
    for folder in (before, behind, asked, colon):
        folder.mkdir()
    monkeypatch.chdir(before)
    own = [folder for folder in sys.path if folder in (os.path.dirname(os.__file__),)]
    monkeypatch.setattr(sys, "path", ["", str(colon), *own, str(behind), str(tmp_path / "nowhere")])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(before), str(asked)]))
    assert import_environment() == {
        "PYTHONPATH": os.pathsep.join([str(before), str(asked)]),
        LATER_IMPORTS: str(behind),
    }
