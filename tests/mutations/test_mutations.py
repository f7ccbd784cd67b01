"""Each deliberate break of the truth machinery is caught by the test that is named for it.

Every run of the tests sees that each mutant still fits the code.  `pytest -m slow tests/mutations` plants
them, one at a time, in a copy of the package, and runs the test that must fail.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from mutants import MUTANTS

ROOT = Path(__file__).parents[2]

FAILED, PASSED = 1, 0
"""Exit statuses of pytest."""


@pytest.mark.parametrize("name", MUTANTS)
def test_each_mutant_still_fits_the_code(name: str, tmp_path: Path) -> None:
    mutant = MUTANTS[name]
    (tmp_path / mutant.file).parent.mkdir(parents=True)
    shutil.copy(ROOT / mutant.file, tmp_path / mutant.file)
    mutant.apply(tmp_path)
    compile((tmp_path / mutant.file).read_text(), mutant.file, "exec")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package and its tests, to be changed."""
    folder = tmp_path_factory.mktemp("mutated")
    without = shutil.ignore_patterns("__pycache__")
    for name in ("harness", "tests", "experiments"):
        shutil.copytree(ROOT / name, folder / name, ignore=without)
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, folder / name)
    return folder


def outcome(test: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a test on the package in a folder."""
    path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
    return subprocess.run(
        [sys.executable, "-P", "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-m", "", test],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


@pytest.mark.slow
@pytest.mark.parametrize("test", sorted({mutant.test for mutant in MUTANTS.values()}))
def test_without_a_mutant_its_test_passes(test: str, copy: Path) -> None:
    done = outcome(test, copy)
    assert done.returncode == PASSED, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTANTS)
def test_each_mutant_is_caught(name: str, copy: Path) -> None:
    mutant = MUTANTS[name]
    original = (copy / mutant.file).read_text()
    mutant.apply(copy)
    try:
        done = outcome(mutant.test, copy)
    finally:
        (copy / mutant.file).write_text(original)
    assert done.returncode == FAILED, done.stdout + done.stderr
