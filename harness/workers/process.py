"""The parent's side of a worker process: start it, ask it, outlive its death and say what it died of."""

import contextlib
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from types import TracebackType
from typing import IO, Self, TypeVar

from harness.status import Status
from harness.workers.protocol import REQUESTS, RESPONSES, Failed, FailureKind, Request, Response

Answer = TypeVar("Answer", bound=Response)

DEATH_POLL_S = 0.25
"""How often a silent worker is looked after: a stray child of it may hold the pipe open."""

STARTUP_LIMIT_S = 60.0
"""How long a new worker may take to greet before its first request's time begins to count all the same."""

LOG_LIMIT = 1_000_000
"""Bytes of a worker's log that are read back."""

TELLING_WORDS = ("Assertion", "LLVM ERROR", "what():", "terminate called", "fatal error", "error:")
"""What a compiler's or a runtime's last words contain, most telling first."""

STATUS_OF: dict[FailureKind, Status] = {
    "bad-input": Status.BUILD_FAILED,
    "unsupported": Status.UNSUPPORTED,
    "build-failed": Status.BUILD_FAILED,
    "out-of-memory": Status.OUT_OF_MEMORY,
    "crashed": Status.CRASHED,
    "wrong": Status.WRONG,
}


class WorkerFailure(Exception):  # noqa: N818 - an outcome of a case, not a fault of the harness
    """A request failed, or the worker died of it: the status of the case and the reason, on one line."""

    def __init__(self, status: Status, reason: str, *, bad_input: bool = False, log: str = "") -> None:
        super().__init__(f"{status}: {reason}")
        self.status = status
        self.reason = reason
        self.bad_input = bad_input
        self.log = log
        """What the worker wrote during the request."""


class WorkerProcess:
    """One `python -m harness.running.worker`, in a process group of its own, that dies with this process.

    Start it from a thread that outlives it: the kernel takes the end of that thread for the parent's.
    A worker that has died stays dead; every later request says so.
    """

    def __init__(self, *, threads: int | None = None, memory_gb: float | None = None) -> None:
        """Start a worker whose libraries use `threads` threads (None: as many as they like)."""
        self._log: IO[bytes] = tempfile.TemporaryFile(prefix="harness-worker-")  # noqa: SIM115 - closed in close
        self._log_mark = 0
        self._greeted = False
        self._killed = False
        self._pending = b""
        self._deadline = 0.0
        self._timeout = 0.0
        request_read, self._requests = os.pipe()
        self._responses, response_write = os.pipe()
        command = [sys.executable, "-m", "harness.running.worker", "--parent", str(os.getpid())]
        command += ["--requests", str(request_read), "--responses", str(response_write)]
        if memory_gb is not None:
            command += ["--memory-gb", str(memory_gb)]
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                pass_fds=(request_read, response_write),
                process_group=0,
                env=worker_environment(threads),
            )
        finally:
            os.close(request_read)
            os.close(response_write)

    @property
    def pid(self) -> int:
        """Process id of the worker."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the worker can still be asked."""
        return self._process.poll() is None

    @property
    def time_left(self) -> float:
        """Seconds until the request in flight times out."""
        return max(0.0, self._deadline - time.monotonic())

    def fileno(self) -> int:
        """File descriptor that becomes readable when the worker answers or dies, for `select`."""
        return self._responses

    def request(self, request: Request, timeout_s: float, answer: type[Answer]) -> Answer:
        """Ask, wait and return the answer; raises `WorkerFailure` for anything else."""
        self.send(request, timeout_s)
        response = self.receive()
        if not isinstance(response, answer):
            raise TypeError(f"a worker answered {type(request).__name__} with {type(response).__name__}")
        return response

    def send(self, request: Request, timeout_s: float) -> None:
        """Ask without waiting; `receive` then waits for the answer until the time-out.

        The time that a new worker takes to start does not count.
        """
        if not self._greeted:
            self._wait_for_greeting()
        else:
            self._log_mark = os.fstat(self._log.fileno()).st_size
        self._timeout = timeout_s
        self._deadline = time.monotonic() + timeout_s
        with contextlib.suppress(BrokenPipeError):  # it has died, and `receive` says of what
            _write_all(self._requests, REQUESTS.dump_json(request) + b"\n")

    def receive(self) -> Response:
        """Wait for the answer; raises `WorkerFailure` when the request failed, timed out or killed it."""
        line = self._read_line()
        response = RESPONSES.validate_json(line)
        if isinstance(response, Failed):
            raise WorkerFailure(
                STATUS_OF[response.failure],
                response.message,
                bad_input=response.failure == "bad-input",
                log=self.log(),
            )
        return response

    def log(self) -> str:
        """Return what the worker wrote to standard output and error since the last request was sent."""
        size = os.fstat(self._log.fileno()).st_size
        start = max(self._log_mark, size - LOG_LIMIT)
        return os.pread(self._log.fileno(), size - start, start).decode(errors="replace")

    def close(self) -> None:
        """Kill the worker and whatever it started, and release its log."""
        if self._log.closed:
            return
        self._kill()
        os.close(self._requests)
        os.close(self._responses)
        self._log.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _wait_for_greeting(self) -> None:
        """Wait until the worker has started or died; which of them, `receive` finds out."""
        self._greeted = True
        ready, _, _ = select.select([self._responses], [], [], STARTUP_LIMIT_S)
        if ready:
            os.read(self._responses, 1)

    def _read_line(self) -> bytes:
        while b"\n" not in self._pending.lstrip(b"\n"):
            ready, _, _ = select.select([self._responses], [], [], min(DEATH_POLL_S, self.time_left))
            if ready:
                data = os.read(self._responses, 65536)
                if not data:
                    raise self._death()
                self._pending += data
            elif not self.alive:
                raise self._death()
            elif self.time_left == 0.0:
                self._kill()
                raise WorkerFailure(
                    Status.TIMED_OUT, f"no answer within the limit of {self._timeout:g} s", log=self.log()
                )
        line, _, self._pending = self._pending.lstrip(b"\n").partition(b"\n")
        return line

    def _death(self) -> WorkerFailure:
        """Say what the worker died of."""
        try:
            code = self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._kill()
            return WorkerFailure(Status.CRASHED, "the worker closed its pipe without ending", log=self.log())
        self._kill()
        status, reason = explain_death(code, self.log())
        return WorkerFailure(status, reason, log=self.log())

    def _kill(self) -> None:
        """Kill the whole process group, once; the worker's own children may outlive the worker."""
        if self._killed:
            return
        self._killed = True
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        except PermissionError:
            self._process.kill()
        self._process.wait()


def worker_environment(threads: int | None) -> dict[str, str]:
    """Return the environment of a worker.

    Idle thread pools must sleep: a pool that spins while its owner waits for its turn slows the neighbour
    that is being timed.
    """
    environment = {**os.environ, "OMP_WAIT_POLICY": "PASSIVE", "KMP_BLOCKTIME": "0", "GOMP_SPINCOUNT": "0"}
    if threads is not None:
        for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
            environment[variable] = str(threads)
    return environment


def explain_death(code: int, log: str) -> tuple[Status, str]:
    """Return status and reason of a process that ended with this exit code (negative: signal)."""
    last_words = telling_line(log)
    suffix = f": {last_words}" if last_words else ""
    if "bad_alloc" in log or "LLVM ERROR: out of memory" in log or "MemoryError" in log:
        return Status.OUT_OF_MEMORY, f"out of memory{suffix}"
    if code == -signal.SIGKILL:
        return Status.OUT_OF_MEMORY, "killed by the system (SIGKILL), most likely out of memory"
    if code < 0:
        return Status.CRASHED, f"{signal_name(-code)}{suffix}"
    return Status.CRASHED, f"the worker ended with exit status {code}{suffix}"


def signal_name(number: int) -> str:
    """Return a signal's name, `SIGSEGV`."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def telling_line(log: str) -> str:
    """Return the line of a log that says most about a death, at most 300 characters, or an empty string."""
    lines = [line.strip() for line in log.split("Fatal Python error")[0].splitlines() if line.strip()]
    for words in TELLING_WORDS:
        for line in lines:
            if words in line:
                return line[:300]
    return lines[-1][:300] if lines else ""


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
