import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

LIVING = """
import os, sys
from harness.system.processes.lives import begin_anew, live
counts = []
def life():
    counts.append(os.getpid())
    with open(sys.argv[1], "a") as file:
        file.write(f"{len(counts)} {os.getpid()} {os.getppid()}\\n")
    with open(sys.argv[1]) as file:
        if len(file.readlines()) < 3:
            begin_anew()
    LAST_WORDS
live(life)
"""


def lives(folder: Path, last_words: str) -> tuple["subprocess.CompletedProcess[str]", list[list[int]]]:
    """Run three lives, the last of which ends by `last_words`; return what each wrote."""
    file = folder / "lives"
    program = LIVING.replace("LAST_WORDS", last_words)
    ended = subprocess.run([sys.executable, "-c", program, str(file)], capture_output=True, text=True)
    return ended, [[int(word) for word in line.split()] for line in file.read_text().splitlines()]


def has_ended(pid: int) -> bool:
    """Wait until a process that was killed is gone, or waits for somebody to ask what became of it."""
    for _ in range(1000):
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.01)
    return False


def test_each_life_is_a_process_as_it_was_before_the_first(tmp_path: Path) -> None:
    ended, written = lives(tmp_path, "pass")
    assert ended.returncode == 0
    assert [count for count, _, _ in written] == [1, 1, 1]
    assert len({pid for _, pid, _ in written}) == 3
    assert len({parent for _, _, parent in written}) == 1


@pytest.mark.parametrize(
    ("last_words", "code"),
    [
        ("sys.exit(7)", 7),
        ("os.kill(os.getpid(), 11)", -signal.SIGSEGV),
    ],
)
def test_the_process_ends_as_its_last_life(tmp_path: Path, last_words: str, code: int) -> None:
    ended, written = lives(tmp_path, last_words)
    assert ended.returncode == code
    assert len(written) == 3


def test_a_life_ends_with_the_process_that_waits_for_it(tmp_path: Path) -> None:
    last_words = "os.kill(os.getppid(), 9); import time; time.sleep(60)"
    ended, written = lives(tmp_path, last_words)  # returns only when no life holds the pipes any more
    assert ended.returncode == -signal.SIGKILL
    assert has_ended(written[-1][1])
