"""Standard output and error that are full, closed, or cannot hold a letter."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.results.run_folder import RunFolder

FULL = "/dev/full"

CHECK = ["check", "smoke", "--only", "variant=unfused", "--only", "seq=64", "--only", "causal=false"]

pytestmark = pytest.mark.skipif(not os.path.exists(FULL), reason=f"no {FULL}: nothing is full by itself")


def harness(redirection: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the program by a shell, which redirects its streams."""
    return subprocess.run(
        ["sh", "-c", f'exec "$0" "$@" {redirection}', sys.executable, "-m", "harness", *arguments],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def test_output_that_cannot_be_written_is_one_line() -> None:
    done = harness(f">{FULL}", "list", "variants")
    assert (done.returncode, done.stderr) == (
        2,
        "harness: cannot write standard output: No space left on device\n",
    )


def test_letters_that_a_terminal_does_not_have_are_escaped() -> None:
    done = harness("", "list", "variants", PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()


@pytest.mark.sweep
def test_a_run_whose_progress_nobody_reads_any_more_ends_and_keeps_what_it_has(tmp_path: Path) -> None:
    """As of `harness check … 2>&1 | head -1`: the case's own line finds no reader."""
    words = [sys.executable, "-m", "harness", *CHECK, "--out", str(tmp_path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"1 case\n"
        process.stdout.close()
        assert process.wait() == 141
    (manifest,) = tmp_path.glob("*/*/manifest.json")
    run = RunFolder.open(manifest.parent)
    assert [row.status for row in run.results()] == ["passed"]
    assert run.manifest.finished is not None
    assert (run.path / "results.parquet").exists()
