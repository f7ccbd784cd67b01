"""The parent's side of a worker process: start it, ask it, outlive its death and say what it died of."""

import contextlib
import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, Self

from harness.bench.workers.deaths import explain_death
from harness.bench.workers.import_path import import_environment
from harness.bench.workers.protocol import Answer, Greeting, Life, Request, receive_message, send_message
from harness.system.errors import StorageError
from harness.system.machine.cores import ALLOTTED
from harness.system.machine.memory import OutOfMemoryCount
from harness.system.processes import guardian
from harness.system.processes.lives import begin_anew
from harness.system.processes.open_files import readable
from harness.system.processes.programs import SENT_FROM_OUTSIDE
from harness.system.status import Status
from harness.system.storage.cache_folder import CACHE_DIR_VARIABLE, cache_root
from harness.system.storage.folder_store import FolderStore

DEATH_POLL_S = 0.25
"""How often a silent worker is looked after: a stray child of it may hold the channel open."""

DESCRIPTORS = 3
"""Open files of this process for each worker: its channel, its log, and the lock of its scratch folder."""

STARTUP_LIMIT_S = 60.0
"""How long a new worker may take to greet before its first request's time begins to count all the same."""

LOG_LIMIT = 1_000_000
"""Bytes of a worker's log that are read back."""


@dataclass(eq=False)
class WorkerFailure(Exception):  # noqa: N818 - an outcome of a case, not a fault of the harness
    """A request failed, or the worker died of it: the status of the case and the reason, on one line."""

    status: Status
    reason: str
    bad_input: bool = field(default=False, kw_only=True)
    no_room: bool = field(default=False, kw_only=True)
    """Whether a disk is full or cannot be written, which is no fault of the case."""
    transient: bool = field(default=False, kw_only=True)
    """Whether it is no fault of the case, which was killed from outside, say: the next try may succeed."""
    was_killed: bool = field(default=False, kw_only=True)
    phase: str = field(default="check", kw_only=True)
    """The phase of a check in which it happened."""
    log: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        if not self.status.ends_early:
            raise ValueError(f"a failure cannot be {self.status}")

    def __str__(self) -> str:
        return f"{self.status}: {self.reason}"


def begin_new_life(life: Life) -> Greeting:
    """Begin a new life, in the worker: a process as it was before the first request.  The next one greets."""
    begin_anew()


class WorkerProcess:
    """One `python -m harness.bench.running.worker` under a guardian, in a process group of its own.

    Start a worker from a thread that outlives it: its guardian (`harness.system.processes.guardian`) takes
    the end of that thread for the parent's.

    A worker works in a folder of its own below the artifact cache, which is also its folder for temporary
    files: what a killed one leaves there is removed by the next worker or build.  It imports from where
    this process does (`harness.bench.workers.import_path`).  It can begin anew (`restart`).  A worker that
    has died stays dead; every later request says so.
    """

    def __init__(
        self,
        *,
        threads: int | None = None,
        memory_gb: float | None = None,
        modules: Sequence[str] = (),
        cores: int | None = None,
        sources: Sequence[Path] = (),
    ) -> None:
        """Start a worker whose libraries use `threads` threads (None: as many as they like).

        What shares its work among processes itself, as the emulator, keeps `cores` busy (None: all).
        It imports `modules` once for all of its lives, and what lies in `sources` before all else of that
        name, this package included: it serves as another revision does then.
        """
        self._log_mark = 0
        self._pid: int | None = None
        self._closed = False
        self._killed = False
        self._deadline = 0.0
        self._timeout = 0.0
        self._out_of_memory = OutOfMemoryCount()
        with ExitStack() as stack:
            scratch = stack.enter_context(scratch_folder())
            self._log: IO[bytes] = stack.enter_context(tempfile.TemporaryFile(dir=scratch))
            self._channel, theirs = socket.socketpair()
            stack.enter_context(self._channel)
            with theirs:
                arguments = ["--channel", str(theirs.fileno()), *modules]
                if memory_gb is not None:
                    arguments += ["--memory-gb", str(memory_gb)]
                self._process = subprocess.Popen(
                    guardian.command("module", "harness.bench.running.worker", arguments),
                    stdin=subprocess.DEVNULL,
                    stdout=self._log,
                    stderr=self._log,
                    pass_fds=(theirs.fileno(),),
                    process_group=0,
                    cwd=scratch,
                    env=worker_environment(threads, scratch, cores, sources),
                )
            self._stack = stack.pop_all()

    @property
    def pid(self) -> int:
        """Process id of the worker; of its guardian, if it has died before it greeted."""
        if self._pid is None and not self._closed:
            self._wait_for_greeting()
        return self._pid or self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the worker can still be asked."""
        return self._process.poll() is None

    @property
    def time_left(self) -> float:
        """Seconds until the request in flight times out."""
        return max(0.0, self._deadline - time.monotonic())

    def fileno(self) -> int:
        """File descriptor that becomes readable when the worker answers or dies."""
        return self._channel.fileno()

    def request(self, request: Request[Answer], timeout_s: float) -> Answer:
        """Ask, wait and return the answer; raises `WorkerFailure` for anything else."""
        self.send(request, timeout_s)
        answer: Answer = self.receive()
        return answer

    def restart(self) -> None:
        """Begin a new life of the worker, without waiting: what it has loaded, bound and started is gone."""
        self.send(begin_new_life, STARTUP_LIMIT_S)
        self._pid = None

    def begin_lives(self, request: Request[Greeting], timeout_s: float) -> None:
        """Prepare what all lives from now on begin with, and begin the first; raises `WorkerFailure`."""
        self._pid = self.request(request, timeout_s).pid

    def send(self, request: Request[Any], timeout_s: float) -> None:
        """Ask without waiting; `receive` then waits for the answer until the time-out."""
        if self._pid is None:
            self._wait_for_greeting()
        else:
            self._log_mark = os.fstat(self._log.fileno()).st_size
        self._ask(request, timeout_s)

    def send_early(self, request: Request[Any], timeout_s: float) -> None:
        """Ask a worker that may be starting still, without waiting for that either."""
        self._ask(request, timeout_s + STARTUP_LIMIT_S)

    def _ask(self, request: Request[Any], timeout_s: float) -> None:
        self._timeout = timeout_s
        self._deadline = time.monotonic() + timeout_s
        # One that has died cannot be sent anything: `receive` says what it has died of.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            send_message(self._channel, request)

    def receive(self) -> Any:
        """Wait for the answer; raises `WorkerFailure` when the request failed, timed out or killed it."""
        response = self._response()
        if isinstance(response, Greeting) and self._pid is None:
            self._pid = response.pid
            response = self._response()
        if not isinstance(response, WorkerFailure):
            return response
        if response.was_killed and self._out_of_memory.has_grown():
            reason = f"{response.reason}, by the kernel, which was out of memory"
            raise WorkerFailure(Status.OUT_OF_MEMORY, reason, log=self.log())
        raise replace(response, log=self.log())

    def log(self) -> str:
        """Return what the worker wrote to standard output and error since the last request was sent."""
        size = os.fstat(self._log.fileno()).st_size
        start = max(self._log_mark, size - LOG_LIMIT)
        return os.pread(self._log.fileno(), size - start, start).decode(errors="replace")

    def close(self) -> None:
        """Kill the worker and whatever it started, and release its log and its folder."""
        if not self._closed:
            self._closed = True
            self._kill()
            self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _wait_for_greeting(self) -> None:
        """Wait until the worker has started or died; which of them, `receive` finds out."""
        self._deadline = time.monotonic() + STARTUP_LIMIT_S
        if self._can_be_read():
            with contextlib.suppress(EOFError):
                self._pid = receive_message(self._channel).pid

    def _can_be_read(self) -> bool:
        """Wait for an answer until the time is up; return whether there is one, or the channel has ended."""
        while not readable([self.fileno()], min(DEATH_POLL_S, self.time_left)):
            if not self.alive or self.time_left == 0.0:
                return False
        return True

    def _response(self) -> Any:
        if self._can_be_read():
            try:
                return receive_message(self._channel)
            except EOFError:
                raise self._death() from None
        if not self.alive:
            raise self._death()
        log = self.log()
        self._kill()
        raise WorkerFailure(Status.TIMED_OUT, f"no answer within the limit of {self._timeout:g} s", log=log)

    def _death(self) -> WorkerFailure:
        try:
            code = self._process.wait(timeout=2 * guardian.PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._kill()
            return WorkerFailure(
                Status.CRASHED, "the worker closed its channel without ending", log=self.log()
            )
        self._kill()
        log = self.log()
        status, reason = explain_death(code, log, self._out_of_memory.has_grown())
        transient = status is Status.CRASHED and -code in SENT_FROM_OUTSIDE
        return WorkerFailure(status, reason, transient=transient, log=log)

    def _kill(self) -> None:
        """Let the guardian kill the worker's whole tree, once; failing that, kill its process group."""
        if self._killed:
            return
        self._killed = True
        self._process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=2 * guardian.PATIENCE_S)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Make a folder for a worker's temporary files below the artifact cache, removed at the end."""
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(FolderStore(cache_root().absolute()).private_folder())
        except StorageError:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="harness-worker-")))
        yield folder


def worker_environment(
    threads: int | None,
    scratch: Path | None = None,
    cores: int | None = None,
    sources: Sequence[Path] = (),
) -> dict[str, str]:
    """Return the environment of a worker that has its temporary files in the folder `scratch`.

    Idle thread pools must sleep: a pool that spins while its owner waits for its turn slows the neighbour
    that is being timed.
    """
    environment = {**os.environ, "OMP_WAIT_POLICY": "PASSIVE", "KMP_BLOCKTIME": "0", "GOMP_SPINCOUNT": "0"}
    environment[CACHE_DIR_VARIABLE] = str(cache_root().absolute())
    environment |= import_environment(sources)
    if scratch is not None:
        environment["TMPDIR"] = str(scratch)
    if threads is not None:
        for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
            environment[variable] = str(threads)
    if cores is not None:
        environment[ALLOTTED] = str(cores)
    return environment
