"""Arguments and options that several commands share."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer


class Listed(StrEnum):
    """What `harness list` can list."""

    VARIANTS = "variants"
    TARGETS = "targets"
    STAGES = "stages"
    SCHEDULES = "schedules"
    EXPERIMENTS = "experiments"
    FIGURES = "figures"
    DISTRIBUTIONS = "distributions"
    CASES = "cases"


class FigureFormat(StrEnum):
    """File formats of figures."""

    PNG = "png"
    SVG = "svg"
    PDF = "pdf"


def given_path(text: str | Path) -> Path:
    """Return the path that somebody has given; an empty one, as of a variable that is not set, is none."""
    if str(text) == "":
        raise typer.BadParameter("found an empty path, expected one")
    return Path(text)


def path_option(metavar: str, text: str) -> Any:
    """Return an option for a path, see `given_path`, that the help explains by a text."""
    return typer.Option(parser=given_path, metavar=metavar, help=text)


EXPERIMENT = typer.Argument(
    metavar="EXPERIMENT",
    help="TOML file, or the name of one that ships or lies in experiments/.",
    show_default=False,
)
ExperimentName = Annotated[str, EXPERIMENT]
ExperimentOrBundle = Annotated[str | None, EXPERIMENT]
FromBundle = Annotated[
    Path | None,
    path_option("DIR", "Instead of EXPERIMENT: what 'harness build --bundle' wrote; nothing is built."),
]
Profile = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="The experiment as its table [profiles.NAME] changes it, such as cpu."),
]
Only = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY=VALUE[,VALUE...]",
        help="Only these cases: variant=flash, target=cpu, seq=256,512, case=9f3c …; "
        "repeat with other keys to narrow down.",
    ),
]
Shard = Annotated[
    str | None,
    typer.Option(
        metavar="I/N",
        help="Only part I of N, which other runs do the rest of; 'harness report' joins them.",
    ),
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Continue the newest unfinished run, else the newest: only what is missing or changed.",
    ),
]
Out = Annotated[Path, path_option("DIR", "Folder of all results.")]
Params = Annotated[
    str | None,
    typer.Option(
        metavar="tuned",
        help="Parameters that 'harness tune' has found on this machine, where an experiment sets none.",
    ),
]
Jobs = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Builds at a time.  [default: one per core]")
]
Dump = Annotated[
    Path | None, path_option("DIR", "Write each wrong output, and what was expected, as an .npz file.")
]
Plain = Annotated[bool, typer.Option("--plain", help="Progress as plain lines, as without a terminal.")]
