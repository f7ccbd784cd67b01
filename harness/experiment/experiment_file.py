"""An experiment's file: its text, and the TOML in it."""

import re
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
        raise InputError(f"{path}: not valid TOML: {error}{_toml_hint(text, str(error))}") from error


def _toml_hint(text: str, error: str) -> str:
    """Return what is probably meant: a table of settings, or a truth value in Python's spelling."""
    table = re.search(r"\('(variant|target)s', '", error)
    if table is not None:
        return f"; settings of a {table[1]} stand in [{table[1]}.NAME]"
    place = re.search(r"at line (\d+), column (\d+)", error)
    if place is None:
        return ""
    line, column = text.splitlines()[int(place[1]) - 1], int(place[2])
    if re.match(r"(True|False)\b", line[column - 1 :]) is None:
        return ""
    return "; truth values are written in lower case, true or false"
