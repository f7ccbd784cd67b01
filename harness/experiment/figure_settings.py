"""What an experiment says of its figures, validated by the figures themselves."""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from harness.experiment.case_settings import code_of
from harness.system.errors import InputError
from harness.system.validation import messages, unknown_name

if TYPE_CHECKING:
    from harness.reporting.figures.base import Figure, FigureSettings


def parse_settings(
    figure: "Figure", values: Mapping[str, Any], variants: Collection[str] | None = None
) -> "FigureSettings":
    """Validate what an experiment says under `[figures] NAME`, `variants` being those of the experiment."""
    try:
        with code_of(figure.settings):
            settings = figure.settings.model_validate(dict(values))
    except ValidationError as error:
        raise InputError(*messages(error, f"figures.{figure.name}", figure.settings)) from error
    if variants is not None:
        unknown = [
            f"figures.{figure.name}.{key}: {unknown_name('variant', name, variants)}"
            for key, names in settings.named_variants.items()
            for name in names
            if name not in variants and name.partition(" ")[0] not in variants
        ]
        if unknown:
            raise InputError(*unknown)
    return settings
