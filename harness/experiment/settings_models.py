"""Models of settings are code of plugins: whatever it raises or returns is one line."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError

from harness.errors import HarnessError, PluginError, one_line

Model = TypeVar("Model", bound=BaseModel)


def made_of(model: type[Model], make: Callable[[], Model]) -> Model:
    """Return the settings that a model's own code makes.

    Raises what pydantic raises for a setting that is wrong, and `PluginError` for whatever else that code
    raises, or returns.
    """
    with code_of(model):
        settings = make()
        if not isinstance(settings, model):
            raise TypeError(f"its validator returns {type(settings).__name__}")
        return settings


@contextmanager
def code_of(model: type[BaseModel]) -> Iterator[None]:
    """Run a model's own code: `ValueError` alone is somebody's setting, all else raises `PluginError`."""
    try:
        yield
    except PydanticSerializationError as error:
        raise PluginError(f"{model.__name__} has a value that no case can hold: {one_line(error)}") from error
    except (ValueError, HarnessError):
        raise
    except Exception as error:
        raise PluginError(f"{model.__name__} cannot check its settings: {one_line(error)}") from error
