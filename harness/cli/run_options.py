"""The arguments and options that `harness run` and `harness check` have in common."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from harness.cli.options import (
    Dump,
    ExperimentOrBundle,
    FromBundle,
    Jobs,
    Only,
    Out,
    Params,
    Plain,
    Profile,
    Resume,
    Shard,
)
from harness.results.default_out import DEFAULT_OUT


@dataclass(frozen=True)
class RunOptions:
    """What a run is told on the command line; each field is an argument or option of that name."""

    experiment: ExperimentOrBundle = None
    bundle: FromBundle = None
    profile: Profile = None
    only: Only = None
    params: Params = None
    shard: Shard = None
    resume: Resume = False
    out: Out = DEFAULT_OUT
    jobs: Jobs = None
    dump: Dump = None
    plain: Plain = False


def with_run_options(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command, whose first parameter is `RunOptions`, take its fields before its own options."""
    shared = inspect.signature(RunOptions).parameters
    _, *own = inspect.signature(command).parameters.values()
    parameters = [*shared.values(), *own]

    @functools.wraps(command)
    def started(**arguments: Any) -> None:
        options = RunOptions(**{name: arguments.pop(name) for name in shared})
        command(options, **arguments)

    started.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    started.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return started
