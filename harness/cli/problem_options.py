"""Options that are generated from `AttentionProblem`: a field's name, type and docstring are the option's.

The model is imported when the parameters of such a command are asked for, so that others start at once.
"""

import inspect
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.main
from typer.core import TyperCommand

if TYPE_CHECKING:
    from harness.problem.fields import ProblemField


class ProblemCommand(TyperCommand):
    """A command with an option for each field of a problem, and `--seq` for both lengths.

    The command finds those that were given, by field, in its context's `obj`.
    """

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the command's own parameters, then those of the problem, then `--help`."""
        *own, help_option = super().get_params(ctx)
        return [*own, *_options(), help_option]

    def invoke(self, ctx: Any) -> Any:
        """Call the command, with the problem's options in its context instead of in its arguments."""
        option_values = {option.name: ctx.params.pop(option.name) for option in _options()}
        ctx.obj = {
            name: value for name, value in option_values.items() if value is not None and value is not False
        }
        return super().invoke(ctx)


def _options() -> list[Any]:
    """Return the parameters that typer makes of a function that has the problem's fields as arguments."""

    def problem() -> None:
        """Have a signature."""

    arguments = _arguments()
    problem.__signature__ = inspect.Signature(arguments)  # type: ignore[attr-defined]
    problem.__annotations__ = {argument.name: argument.annotation for argument in arguments}
    application = typer.Typer(add_completion=False)
    application.command(add_help_option=False)(problem)
    return typer.main.get_command(application).params


def _arguments() -> list[inspect.Parameter]:
    from harness.ir_view.request import DEFAULT_SEQ, DEFAULTS
    from harness.problem.fields import problem_fields

    text = f"Queries and keys, if --seq-q and --seq-kv say nothing else.  [default: {DEFAULT_SEQ}]"
    arguments = [_argument("seq", int | None, text)]
    for name, field in problem_fields().items():
        default = DEFAULTS.get(name, field.default)
        shown = "" if default is None or default is False else f"  [default: {default}]"
        arguments.append(_argument(name, _typed(field), field.description + shown, _metavar(field)))
    return arguments


def _argument(name: str, annotation: Any, text: str, metavar: str | None = None) -> inspect.Parameter:
    spelling = f"--{name.replace('_', '-')}"
    option = typer.Option(spelling, help=text, metavar=metavar, show_default=False)
    default = False if annotation is bool else None
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[annotation, option]
    )


def _typed(field: "ProblemField") -> Any:
    """Return what typer reads an option as; what it cannot read stays text."""
    if field.kind is bool:
        return bool
    return field.kind | None if field.kind in (int, float) else str | None


def _metavar(field: "ProblemField") -> str | None:
    if field.kind is not tuple:
        return None
    return "N,…" if field.length is None else ",".join(["N"] * field.length)
