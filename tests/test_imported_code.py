"""Whether the files of imported modules are others by now."""

import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from harness.errors import PluginError
from harness.imported_code import edited_modules, note_modules, require_as_imported

NAME = "an_imported_module"
SOURCE = """
LIMIT = 3

def plain(value):
    return value + LIMIT

class Held:
    def method(self):
        return [item for item in (1, 2)]

    @property
    def size(self):
        return 4
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The file of a module that can be imported."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    written = tmp_path / f"{NAME}.py"
    written.write_text(SOURCE)
    yield written
    sys.modules.pop(NAME, None)


def imported() -> ModuleType:
    importlib.invalidate_caches()
    return importlib.import_module(NAME)


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def test_a_module_is_edited_until_it_is_reloaded(file: Path) -> None:
    module = imported()
    assert edited_modules([NAME]) == []
    edit(file, "LIMIT = 3", "LIMIT = 30")
    assert edited_modules([NAME]) == [NAME]
    with pytest.raises(PluginError, match=rf"^{NAME}: its code was edited since this process imported it; "):
        require_as_imported([NAME])
    require_as_imported(["another_package"])
    importlib.reload(module)
    assert edited_modules([NAME]) == []


def test_what_was_edited_before_it_was_looked_at_is_told(file: Path) -> None:
    module = imported()
    edit(file, "LIMIT = 3", "LIMIT = 30")
    assert edited_modules([NAME]) == [NAME]
    importlib.reload(module)
    assert edited_modules([NAME]) == []


def test_a_file_that_was_only_written_again_before_it_was_looked_at_is_as_imported(file: Path) -> None:
    imported()
    os.utime(file, (1, 1))
    assert edited_modules([NAME]) == []


def test_a_module_without_compiled_code_is_as_it_is_seen_first(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    imported()
    note_modules([NAME])
    edit(file, "LIMIT = 3", "LIMIT = 30")
    assert edited_modules([NAME]) == [NAME]


@pytest.mark.parametrize(
    ("old", "new", "is_edited"),
    [
        ("LIMIT = 3", "# as many as there are\nLIMIT   =   3", False),
        ("    return value", "    # their sum\n    return value", False),
        ("value + LIMIT", "value - LIMIT", True),
        ("(1, 2)", "(1, 3)", True),
        ("return 4", "return 5", True),
        ("def plain(value)", "def plain(value, more=0)", True),
        ("class Held:", "class Held(int):", True),
        ("LIMIT = 3", "LIMIT = (", True),
    ],
)
def test_comments_and_layout_are_no_edit(file: Path, old: str, new: str, is_edited: bool) -> None:
    imported()
    note_modules([NAME])
    edit(file, old, new)
    assert edited_modules([NAME]) == ([NAME] if is_edited else [])
    file.write_text(SOURCE)
    assert edited_modules([NAME]) == []


def test_a_deleted_file_is_an_edited_one(file: Path) -> None:
    imported()
    note_modules([NAME])
    file.unlink()
    assert edited_modules([NAME]) == [NAME]


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("value + LIMIT", "value - LIMIT", "plain"),
        ("(1, 2)", "(1, 3)", "Held.method"),
        ("return 4", "return 5", "Held.size"),
    ],
)
def test_new_code_that_was_put_into_a_module_is_as_imported(
    file: Path, old: str, new: str, place: str
) -> None:
    """What `%autoreload` does, which does not load the module again."""
    module = imported()
    note_modules([NAME])
    edit(file, old, new)
    edit(file, "LIMIT = 3", "# above\n\nLIMIT = 3")
    assert edited_modules([NAME]) == [NAME]
    namespace: dict[str, Any] = {"__name__": NAME}
    exec(file.read_text(), namespace)
    owner, _, name = place.rpartition(".")
    if owner:
        setattr(getattr(module, owner), name, vars(namespace[owner])[name])
    else:
        setattr(module, name, namespace[name])
    assert edited_modules([NAME]) == []


def test_a_function_that_was_compiled_by_itself_is_that_of_the_file(file: Path) -> None:
    """Python makes other calls of what a module imports itself."""
    edit(file, "LIMIT = 3", "import math\n\nLIMIT = 3")
    module = imported()
    note_modules([NAME])
    edit(file, "value + LIMIT", "math.floor(value)")
    exec("def plain(value):\n    return math.floor(value)", vars(module))
    assert edited_modules([NAME]) == []


def test_new_code_of_what_was_called_at_the_import_is_no_reload(file: Path) -> None:
    edit(file, "class Held", "TABLE = plain(1)\n\nclass Held")
    module = imported()
    note_modules([NAME])
    edit(file, "value + LIMIT", "value - LIMIT")
    namespace: dict[str, Any] = {"__name__": NAME}
    exec(file.read_text(), namespace)
    module.plain.__code__ = namespace["plain"].__code__
    assert module.plain(1) == -2
    assert module.TABLE == 4
    assert edited_modules([NAME]) == [NAME]
