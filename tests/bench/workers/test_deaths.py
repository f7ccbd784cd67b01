"""What a process died of is read from its exit code and its log."""

import signal

import pytest

from harness.bench.workers.deaths import explain_death, telling_line
from harness.system.status import Status


@pytest.mark.parametrize(
    ("code", "log", "status", "reason"),
    [
        (-signal.SIGSEGV, "", Status.CRASHED, "SIGSEGV"),
        (-signal.SIGFPE, "one\ntwo\n", Status.CRASHED, "SIGFPE: two"),
        (
            -signal.SIGABRT,
            "terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\n",
            Status.OUT_OF_MEMORY,
            "out of memory: what():  std::bad_alloc",
        ),
        (
            -signal.SIGABRT,
            "LLVM ERROR: out of memory\nAllocation failed\n",
            Status.OUT_OF_MEMORY,
            "out of memory: LLVM ERROR: out of memory",
        ),
        (
            1,
            'loading\nTraceback (most recent call last):\n  File "a.py", line 1, in <module>\n    grow()\n'
            "numpy._core._exceptions._ArrayMemoryError: Unable to allocate 8. TiB\n",
            Status.OUT_OF_MEMORY,
            "out of memory: numpy._core._exceptions._ArrayMemoryError: Unable to allocate 8. TiB",
        ),
        (
            -signal.SIGABRT,
            "note: falls back on MemoryError\nnote: no bad_alloc so far\n",
            Status.CRASHED,
            "SIGABRT: note: no bad_alloc so far",
        ),
        (
            1,
            'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    except MemoryError:\n'
            "ValueError: no MemoryError\n",
            Status.CRASHED,
            "the worker ended with exit status 1: ValueError: no MemoryError",
        ),
        (
            -signal.SIGABRT,
            "LLVM ERROR: Cannot select: intrinsic\nStack dump:\n0. Program arguments\n",
            Status.CRASHED,
            "SIGABRT: LLVM ERROR: Cannot select: intrinsic",
        ),
        (3, "", Status.CRASHED, "the worker ended with exit status 3"),
    ],
)
def test_a_death_is_explained(code: int, log: str, status: Status, reason: str) -> None:
    assert explain_death(code, log) == (status, reason)


def test_pythons_own_report_of_a_crash_tells_nothing() -> None:
    log = "loading\nFatal Python error: Segmentation fault\n\nCurrent thread 0x1 (most recent call first):\n"
    assert telling_line(log) == "loading"
