"""Transform scripts for iree-opt, and what IREE compiles, as templates, each whole."""

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

_TEMPLATES = Environment(loader=FileSystemLoader(Path(__file__).parent), undefined=StrictUndefined)


def script(name: str, **values: Any) -> str:
    """Return the script of a step with these values."""
    return _TEMPLATES.get_template(f"{name}.mlir.jinja").render(values)
