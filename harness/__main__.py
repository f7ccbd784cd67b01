"""The command `harness`: runs the command line and turns errors into one line and an exit status."""

import shlex
import sys
from collections.abc import Sequence

import typer

from harness.cli import app
from harness.errors import HarnessError

BAD_INPUT = 2
INTERRUPTED = 130
"""What a shell reports for a program that Ctrl-C ended."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    0: all went well; 1: a checked case failed; 2: bad input, explained in one line on standard error;
    130: interrupted.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        status = app(given, prog_name="harness", standalone_mode=False)
    except HarnessError as error:
        return _fail(" ".join(str(error).split()))
    except typer.TyperException as error:
        return _fail(_usage_message(error))
    except KeyboardInterrupt:
        status = INTERRUPTED
    if status == INTERRUPTED:
        print(_interrupted_message(given), file=sys.stderr)
    return status or 0


def _fail(message: str) -> int:
    print(f"harness: {message}", file=sys.stderr)
    return BAD_INPUT


def _usage_message(error: typer.TyperException) -> str:
    """Return what is wrong with the command line, and which help to read."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "harness"
    message = " ".join(error.format_message().replace("Value error, ", "").split()).removesuffix(".")
    return f"{message} (see '{command} --help')"


def _interrupted_message(arguments: Sequence[str]) -> str:
    """Return the line that says how to go on: the same command with `--resume`, if it has that."""
    if not arguments or arguments[0] not in ("run", "check"):
        return "harness: interrupted"
    words = list(arguments) if "--resume" in arguments else [*arguments, "--resume"]
    return f"harness: interrupted; finished cases are kept, continue with: harness {shlex.join(words)}"


if __name__ == "__main__":
    sys.exit(main())
