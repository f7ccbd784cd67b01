"""A wheel of this package has all that it needs, in any folder: also the experiments."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from harness.bench.running.offline import CHECKOUT, build_own_wheel


@pytest.mark.sweep
def test_a_wheel_runs_an_experiment_by_name(tmp_path: Path) -> None:
    build_own_wheel(tmp_path)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    experiments = {file.name for file in (tmp_path / "site/harness/experiments").iterdir()}
    assert experiments == {file.name for file in (CHECKOUT / "experiments").glob("*.toml")}
    done = subprocess.run(
        [sys.executable, "-P", "-m", "harness", "check", "smoke", "--only", "variant=unfused", "--plain"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "site")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "results/smoke").is_dir()
