"""What an experiment says of its figures, validated by the figures themselves."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from harness.errors import InputError
from harness.validation import messages

if TYPE_CHECKING:
    from harness.reporting.figures.base import Figure, FigureSettings


def parse_settings(figure: "Figure", values: Mapping[str, Any]) -> "FigureSettings":
    """Validate what an experiment says under `[figures] NAME`.

    Raises `InputError`, `figures.throughput.x: found "sequ", expected 'seq' or …`.
    """
    try:
        return figure.settings.model_validate(dict(values))
    except ValidationError as error:
        raise InputError(*messages(error, figure.settings, prefix=f"figures.{figure.name}")) from error
