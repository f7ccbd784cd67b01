"""The command `harness` before a subcommand is chosen, which the modules of commands add themselves to.

Nothing but typer is imported until a command runs, so that `harness --help` answers at once.
"""

from typing import Annotated

import typer

app = typer.Typer(
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", "-V", help="Show the version and exit.")] = False,
) -> None:
    """Build attention through different code generators, check every result and time it."""
    if version:
        from importlib.metadata import version as installed_version

        typer.echo(f"attention-harness {installed_version('attention-harness')}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())
