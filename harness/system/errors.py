"""The errors a user can meet, and what each one means for the run.

An `InputError` ends the command with exit status 2 and its one line.  An `UnsupportedError` ends only
one case, whose row then carries the reason.
"""

import errno
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from harness.system.plurals import counted

if TYPE_CHECKING:
    from harness.artifact.reached_stages import ReachedStage

MOST_LINES = 40
Made = TypeVar("Made")


class HarnessError(Exception):
    """Anything the harness raises on purpose; its message is one line a user can act on."""

    stages: "tuple[ReachedStage, ...]" = ()
    """Of a build that failed: what the stages that it came through have left, in order."""


class InputError(HarnessError):
    """Bad input: says which file and key (or argument), what was found, and what was expected.

    One line a mistake, of a length that can be read; the command line prints them all.
    """

    def __init__(self, *lines: str) -> None:
        self.mistakes = lines
        """All lines, uncut, for an error that tells of others', too."""
        self.lines = lines[:MOST_LINES]
        if len(lines) > MOST_LINES:
            self.lines += (f"and {len(lines) - MOST_LINES} more mistakes",)
        super().__init__("\n".join(self.lines))


class Mistakes:
    """Gathers the lines of several `InputError`s, so that all are told at once."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    @contextmanager
    def gathered(self) -> Iterator[None]:
        """Go on after what is in here, also where it raises an `InputError`."""
        try:
            yield
        except InputError as error:
            self.lines += error.mistakes

    def each(self, names: Iterable[str], make: Callable[..., Made], *arguments: Any) -> dict[str, Made]:
        """Return what is made of each name with arguments, without those where an `InputError` is raised."""
        made: dict[str, Made] = {}
        for name in names:
            with self.gathered():
                made[name] = make(name, *arguments)
        return made

    def require_none(self) -> None:
        """Raise an `InputError` with all lines, each once, if there are some."""
        if self.lines:
            raise InputError(*dict.fromkeys(self.lines))


class StorageError(InputError):
    """A folder that the harness writes to is full or cannot be written: no case's fault, so it ends a run."""


class UnfinishedError(StorageError):
    """What has ended a run that can go on; how, is told by whoever has started it."""


class RunInterrupted(KeyboardInterrupt):
    """Ctrl-C ended a run, or several in turn; says how far it had come, and has the rows so far."""

    def __init__(self, rows: Collection[Any], planned: int) -> None:
        super().__init__(f"{len(rows)} of {counted(planned, 'case')} finished")
        self.rows = list(rows)


class StoppedError(HarnessError):
    """What a command raises for `RunInterrupted`, for the command line to say how to go on."""


class UnsupportedError(HarnessError):
    """A variant or target cannot do this problem, or lacks a package; the message is the reason."""


class TileSizeError(UnsupportedError):
    """A target has no form of tiles of these sizes."""

    size: int | None = None
    """That of a tile in the kernels that the target has got."""
    parameter: str | None = None
    """What sets the size, where one size alone is the reason."""


class PluginError(HarnessError):
    """A plugin cannot be imported or made, or is not what its entry point declares; the message says why."""


class BuildError(HarnessError):
    """A compiler refused the code that a variant generated; the message holds its diagnostics."""


class OutOfMemoryError(HarnessError, MemoryError):
    """The system does not give the memory that code works on; the message says what for, and how much."""


class KilledError(HarnessError):
    """Somebody ended a program that a build runs: no fault of the case, and the next try may succeed."""


class ChangedCodeError(HarnessError):
    """Sources are others than those of a case's key: they changed meanwhile, or come from another folder."""


class EmulatorFindingsError(HarnessError):
    """The emulator's checks found mistakes in the code that it ran; the message lists the first of them."""

    def __init__(self, findings: Sequence[str]) -> None:
        shown = "; ".join(findings[:3])
        super().__init__(f"{len(findings)} findings: {shown}" if len(findings) > 1 else shown)
        self.findings = tuple(findings)


class ChangedInputsError(HarnessError):
    """Code has written to its inputs."""


NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG)
NO_ROOM_WORDS = re.compile(rf"(?:{'|'.join(map(re.escape, map(os.strerror, NO_ROOM)))})(?![ \t]*\w)")
"""How the system, and so every compiler, says that a disk is full or cannot be written; what goes on in words
of its own, `No space left on device in shared memory`, is no word of the system's."""
NOT_WRITTEN_WHOLE = re.compile(r"\d+ requested and \d+ written")
"""How NumPy says that a file took only a part of an array, without the system's reason."""


def is_no_room(error: BaseException) -> bool:
    """Return whether an exception says that a disk is full or cannot be written."""
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno in NO_ROOM
    if isinstance(error, OSError) and NOT_WRITTEN_WHOLE.fullmatch(message_of(error)):
        return True
    return says_no_room(message_of(error))


def says_no_room(text: str) -> bool:
    """Return whether a message or a log says that a disk is full or cannot be written."""
    return NO_ROOM_WORDS.search(text) is not None


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception, and what it was raised from."""
    while error is not None:
        yield error
        error = error.__cause__


def stages_of(error: BaseException) -> "tuple[ReachedStage, ...]":
    """Return the stages that were reached by the build that an exception tells of, none for others."""
    stages_of_causes = (cause.stages for cause in causes(error) if isinstance(cause, HarnessError))
    return next((stages for stages in stages_of_causes if stages), ())


@contextmanager
def raised_in(place: str) -> Iterator[None]:
    """Note on every exception that comes out of here where it was raised, `step "tiled"`, for `one_line`."""
    try:
        yield
    except Exception as error:
        error.add_note(f"in {place}")
        raise


@contextmanager
def memory_for(what: str) -> Iterator[None]:
    """Raise `OutOfMemoryError` where what is done in here gets no memory."""
    try:
        yield
    except MemoryError as error:
        raise OutOfMemoryError(f"{what}, and the system does not give that much") from error


LONGEST_MESSAGE = 1000
"""Characters of an exception's message that are kept; libraries put whole inputs into theirs."""


def one_line(error: BaseException) -> str:
    """Return an exception's message, on one line; the harness's own errors need no type's name.

    Of MLIR's errors the first diagnostic is part of it, of pydantic's the first mistake.  Where it was
    raised, see `raised_in`, comes first.  A message that is too long is cut.
    """
    return cut(_one_line(error))


def message_of(error: BaseException) -> str:
    """Return what an exception says, surrogates spelled out, which no file can hold."""
    return str(error).encode("utf-8", "backslashreplace").decode()


def _one_line(error: BaseException) -> str:
    lines = [line.strip() for line in message_of(error)[: 8 * LONGEST_MESSAGE].splitlines() if line.strip()]
    if isinstance(error, HarnessError):
        message = " · ".join(lines[:3])
    else:
        message = ": ".join(
            [type(error).__name__, *(_mlir_message(error) or _pydantic_message(error) or lines[:1])]
        )
    return ": ".join([*reversed(getattr(error, "__notes__", ())), message])


def cut(text: str, length: int = LONGEST_MESSAGE) -> str:
    """Return a text, or its beginning and how much is left out."""
    return text if len(text) <= length else f"{text[:length]}… ({len(text) - length} more characters)"


def _pydantic_message(error: BaseException) -> list[str]:
    """Return the first mistake that a pydantic `ValidationError` tells of, nothing for other exceptions."""
    mistakes = getattr(error, "errors", None)
    if not callable(mistakes) or not hasattr(error, "title"):
        return []
    first = mistakes(include_url=False)[0]
    where = ".".join([str(error.title), *map(str, first["loc"])])
    return [f"{where}: {first['msg']}, found {first['input']!r}"]


def _mlir_message(error: BaseException) -> list[str]:
    """Return an `MLIRError`'s message and its first diagnostic, nothing for other exceptions.

    Told by their attributes, because MLIR may not be imported here.
    """
    diagnostics = getattr(error, "error_diagnostics", None)
    if not diagnostics:
        return []
    first = next(iter(diagnostics[0].message.splitlines()), "")
    return [part for part in (str(getattr(error, "message", "")).strip(), first.strip()) if part]
