"""The command `harness`: runs the command line and turns errors into one line and an exit status."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import typer

from harness.bench.running.signals import ended_by_signals
from harness.cli.commands import app
from harness.system.errors import (
    BuildError,
    HarnessError,
    InputError,
    PluginError,
    StoppedError,
    cut,
)
from harness.system.printable import printable, shell_line
from harness.system.storage.streams import UNWRITABLE, discard_output, prepare_streams, tell

FAILED = 1
"""Exit status where a build that was asked for failed."""
BAD_INPUT = 2
"""Exit status where what the user gave is wrong."""
INTERRUPTED = 130
"""What a shell reports for a program that Ctrl-C ended."""
SCREEN = "MPLBACKEND"
"""Says how matplotlib shows figures: here they are saved, and what a notebook shows with may be missing."""
PLUGINS_OF_PYDANTIC = "PYDANTIC_DISABLE_PLUGINS"
"""Which of its own plugins pydantic leaves out: looking for any it fails at damaged distributions."""
CLOSED_PIPE = 141
"""What a shell reports for a program whose reader, `head` say, went away: 128 + SIGPIPE."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    0: all went well; 1: a checked case or a build failed, or a figure that was asked for is not drawn; 2: bad
    input or a refused problem, one line a mistake; 130: interrupted; 141: nobody reads the output any more.
    """
    with ended_by_signals():
        try:
            return _main(sys.argv[1:] if arguments is None else arguments)
        except (BrokenPipeError, SystemExit) as error:
            # typer and rich make an exit with status 1 of a closed pipe
            if not isinstance(error, BrokenPipeError) and not isinstance(error.__context__, BrokenPipeError):
                raise
            discard_output()
            return CLOSED_PIPE


def _main(arguments: Sequence[str]) -> int:
    os.environ.pop(SCREEN, None)
    os.environ.setdefault(PLUGINS_OF_PYDANTIC, "__all__")
    prepare_streams()
    words = list(arguments)
    for word in words:
        if any("\ud800" <= letter <= "\udfff" for letter in word):
            return _fail(f"found {word!a}, expected UTF-8: manifests could not hold it")
    try:
        Path.cwd()
    except FileNotFoundError:
        return _fail("the current folder has been deleted: change to one that is there")
    try:
        status = app(words, prog_name="harness", standalone_mode=False)
        sys.stdout.flush()
    except StoppedError as interruption:
        tell(_interrupted_message(words, str(interruption)))
        return INTERRUPTED
    except InputError as error:
        return _fail(*error.lines)
    except (BuildError, PluginError) as error:
        return _fail(str(error), status=FAILED)
    except HarnessError as error:
        return _fail(str(error))
    except typer.TyperException as error:
        return _fail(_usage_message(error))
    except KeyboardInterrupt:
        status = INTERRUPTED
    except MemoryError:
        return _fail("the system gives no more memory (see 'ulimit -a'); what was measured is kept")
    except OSError as error:
        if error.errno not in UNWRITABLE or error.filename is not None:
            raise
        discard_output()
        return _fail(f"cannot write standard output: {error.strerror}")
    if status == INTERRUPTED:
        tell("harness: interrupted")
    return status or 0


def _fail(*messages: str, status: int = BAD_INPUT) -> int:
    for message in messages:
        tell(f"harness: {cut(printable(' '.join(message.split())))}")
    return status


def _usage_message(error: typer.TyperException) -> str:
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "harness"
    message = " ".join(error.format_message().replace("Value error, ", "").split()).removesuffix(".")
    return f"{message} (see '{command} --help')"


def _interrupted_message(arguments: Sequence[str], progress: str) -> str:
    """Return the line that says how far a run came and how to go on: the same command with `--resume`."""
    words = list(arguments) if "--resume" in arguments else [*arguments, "--resume"]
    return f"harness: interrupted, {progress}; continue with: {shell_line(['harness', *words])}"


if __name__ == "__main__":
    sys.exit(main())
