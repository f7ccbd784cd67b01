"""An experiment's file: its text, and the TOML in it."""

import tomllib
from pathlib import Path
from typing import Any

from harness.system.errors import InputError
from harness.system.storage.reading import unusable
from harness.system.validation import closest


def named_source(path: Path | str, profile: str | None) -> str:
    """Return how messages name an experiment: by its file and, if one has changed it, its profile."""
    return str(path) if profile is None else f"{path} (profile {profile})"


def text_of(path: Path) -> str:
    """Return the text of an experiment's file; raises `InputError` where it cannot be read."""
    try:
        return path.read_text("utf-8-sig")
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file{_beside(path)}; expected an experiment in TOML") from error
    except IsADirectoryError as error:
        raise InputError(f"{path}: is a folder; expected an experiment in TOML") from error
    except OSError as error:
        raise InputError(f"{unusable(path, error)}; expected an experiment in TOML") from error
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: not UTF-8 text (byte {error.start}); expected an experiment in TOML"
        ) from error


def _beside(path: Path) -> str:
    """Return ` (did you mean X?)` where an experiment of a similar name lies in a missing one's folder."""
    try:
        names = sorted(file.name for file in path.parent.glob("*.toml"))
    except OSError:
        return ""
    meant = closest(path.name, names)
    return f" (did you mean {path.with_name(meant)}?)" if meant else ""


def toml_of(text: str, path: Path) -> dict[str, Any]:
    """Return what the text says; raises `InputError` where it is not TOML."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: not valid TOML: {error}") from error
