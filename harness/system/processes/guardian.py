"""A guardian runs one program and ends all that it started: when it ends, or when the guardian's parent does.

`python -P -m harness.system.processes.guardian PARENT module NAME ARGUMENT...` runs a Python module in a
process of its own; `python -I -S guardian.py PARENT program PATH ARGUMENT...` runs a program.  The guardian
is a subreaper (prctl(2)): whatever loses its parent below it, sessions of their own included, becomes its
child. The kernel tells it of the end of its parent, whose process id is PARENT, by SIGTERM.  It ends as its
program did, by the same signal if there was one; a guardian that is itself sent a signal to end dies of that
signal.

It imports next to nothing, so that it costs neither time nor memory.
"""

import ctypes
import os
import resource
import signal
import sys
import time

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36

GUARDED_VARIABLE = "HARNESS_GUARDED"
"""Set for all that a guardian has started: it needs no guardian of its own."""

PATIENCE_S = 5.0
"""How long killed processes may take to end; one that waits for a disk may take longer, and is left."""

WATCHED = {signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP, signal.SIGINT}


def command(kind: str, name: str, arguments: list[str]) -> list[str]:
    """Return the command line of a guardian that this process starts; `kind` is `module` or `program`.

    One of a program needs nothing that is installed: without it Python starts in half the time.
    """
    guardian = (
        ["-I", "-S", __file__] if kind == "program" else ["-P", "-m", "harness.system.processes.guardian"]
    )
    return [sys.executable, *guardian, str(os.getpid()), kind, name, *arguments]


def main(arguments: list[str]) -> None:
    """Start the program, wait for its end or the parent's, end all of its tree, and end as it did."""
    parent, kind, name, *rest = arguments
    system = ctypes.CDLL(None)
    signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)
    for number in WATCHED:  # one that nohup or a shell ignores would never be waited for
        signal.signal(number, signal.SIG_DFL)
    system.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    system.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != int(parent):
        os._exit(1)  # it has ended already
    guardian = os.getpid()
    os.environ[GUARDED_VARIABLE] = "1"
    child = os.fork()
    if child == 0:
        system.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != guardian:
            os._exit(1)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, WATCHED)
        _run(kind, name, rest)
    os.closerange(3, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    status = _wait(child)
    end_descendants()
    end_as(status)


def _run(kind: str, name: str, arguments: list[str]) -> None:
    if kind == "program":
        try:
            os.execvp(name, [name, *arguments])
        except OSError as error:
            print(f"{name}: {error.strerror}", file=sys.stderr, flush=True)
            os._exit(127)
    import runpy

    sys.argv = [name, *arguments]
    try:
        runpy.run_module(name, run_name="__main__", alter_sys=True)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    sys.exit(0)


def _wait(child: int) -> int:
    """Return the wait(2) status of the program at its end, or of the guardian that a signal is to end."""
    while (number := signal.sigwait(WATCHED)) == signal.SIGCHLD:
        while True:
            ended, status = os.waitpid(-1, os.WNOHANG)
            if ended == child:
                return status
            if ended == 0:
                break
    return number  # what wait(2) says of a process that died of it


def end_as(status: int) -> None:
    """End this process as another one did, of which wait(2) says `status`."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def end_descendants() -> None:
    """Kill all processes below this one, and wait until there are none."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and not _reap():
        for process in descendants(os.getpid()):
            try:
                os.kill(process, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                continue
        if _reap():
            return
        time.sleep(0.001)


def _reap() -> bool:
    """Take note of the children that have ended; return whether there is no other."""
    try:
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass
    except ChildProcessError:
        return True
    return False


def descendants(root: int) -> list[int]:
    """Return the process ids of all processes below one, as /proc has them now."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdecimal():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    parent = int(file.read().rpartition(b")")[2].split()[1])
            except (OSError, IndexError):
                continue  # it has ended meanwhile
            children.setdefault(parent, []).append(int(name))
    process_ids: list[int] = []
    waiting = [root]
    while waiting:
        below = children.get(waiting.pop(), [])
        process_ids += below
        waiting += below
    return process_ids


if __name__ == "__main__":
    main(sys.argv[1:])
