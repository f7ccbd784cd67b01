"""Programs of others, run with a time limit that holds for all that they start."""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence

from harness.processes import guardian


def run_program(
    command: Sequence[str],
    timeout_s: float,
    *,
    text: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> "subprocess.CompletedProcess[str]":
    """Run a program to its end and return its exit status and what it wrote.

    Whatever it starts ends with it, when its time is up, and when this process ends, however it ends.

    Args:
        command: program and arguments.
        timeout_s: seconds that it may take.
        text: its standard input.
        environment: its variables; None: as this process has them.

    Raises `subprocess.TimeoutExpired` when the time is up, `OSError` when it cannot be started.
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
    return subprocess.CompletedProcess(list(command), process.returncode, output, diagnostics)


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
