"""Programs of others, run with a time limit that holds for all that they start."""

import os
import re
import signal
import subprocess
from collections.abc import Mapping, Sequence

from harness.system.errors import BuildError, KilledError
from harness.system.processes import guardian

SENT_FROM_OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
"""Signals that no fault of a program's own raises."""

NAMES = {signal.strsignal(number) or "": number for number in SENT_FROM_OUTSIDE}
SOME_NAME = f"({'|'.join(map(re.escape, NAMES))})"
TOLD = re.compile(
    rf"^{SOME_NAME}$|terminated with signal \d+ \[{SOME_NAME}\]|{SOME_NAME} signal terminated program"
    rf"|unable to execute command: {SOME_NAME}",
    re.MULTILINE,
)
"""How shells (which IREE calls its linker by), GCC and Clang tell that a program of theirs was killed."""


def run_program(
    command: Sequence[str],
    timeout_s: float,
    *,
    text: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> "subprocess.CompletedProcess[str]":
    """Run a program to its end and return its exit status and what it wrote.

    Whatever it starts ends with it, when its time is up, and when this process ends, however it ends.  `text`
    is its standard input.  Raises `subprocess.TimeoutExpired` when the time is up, `OSError` when it cannot
    be started, and `KilledError` when somebody else ended it, or a program of its own that it tells of.
    """
    guarded = list(command)
    if guardian.GUARDED_VARIABLE not in os.environ:
        guarded = guardian.command("program", guarded[0], guarded[1:])
    with subprocess.Popen(
        guarded,
        stdin=subprocess.PIPE if text is not None else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env=environment,
        process_group=0,
    ) as process:
        try:
            output, diagnostics = process.communicate(text, timeout=timeout_s)
        except BaseException:
            _end(process)
            raise
    killer = killed_by(process.returncode, diagnostics)
    if killer is not None:
        raise KilledError(f"{os.path.basename(command[0])} was killed from outside ({killer.name})")
    return subprocess.CompletedProcess(list(command), process.returncode, output, diagnostics)


def run_tool(
    command: Sequence[str],
    timeout_s: float,
    *,
    text: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> str:
    """Run a program of a toolchain and return what it writes; raises `BuildError` with its first error."""
    name = os.path.basename(command[0])
    try:
        done = run_program(command, timeout_s, text=text, environment=environment)
    except subprocess.TimeoutExpired as error:
        raise BuildError(f"{name} took longer than {timeout_s:g} s") from error
    if done.returncode != 0:
        raise BuildError(f"{name}: {first_error(done.stderr or done.stdout, done.returncode)}")
    return done.stdout


def first_error(diagnostics: str, status: int) -> str:
    """Return the first error among a program's diagnostics in one line, without its position in the input."""
    lines = [line.strip() for line in diagnostics.splitlines() if line.strip()]
    for line in lines:
        _, separator, message = line.partition("error: ")
        if separator:
            return message
    return f"{lines[0] if lines else 'no diagnostics'} (exit status {status})"


def killed_by(status: int, diagnostics: str) -> signal.Signals | None:
    """Return the signal by which somebody ended a program, or one that it ran; None if none did."""
    if -status in SENT_FROM_OUTSIDE:
        return signal.Signals(-status)
    kill_notice = TOLD.search(diagnostics) if status != 0 else None
    return None if kill_notice is None else NAMES[next(name for name in kill_notice.groups() if name)]


def _end(process: "subprocess.Popen[str]") -> None:
    """End a program and what it has started: the guardian of this process, or its own, does the rest."""
    if guardian.GUARDED_VARIABLE in os.environ:
        below = [process.pid, *guardian.descendants(process.pid)]
        for number in below:
            try:
                os.kill(number, signal.SIGKILL)
            except ProcessLookupError:
                continue
    else:
        process.terminate()
    process.wait()
