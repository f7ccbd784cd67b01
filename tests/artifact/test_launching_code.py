"""The digest of what launches code: sources that a loader is made of, and versions of what they import."""

import importlib
import sys
import zipfile
from pathlib import Path

import pytest

from harness.artifact import launching_code
from harness.artifact.launching_code import launching_digest
from harness.digest import code_digest

HELPER = "a_runtime_beside_it"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A plugin whose loader imports a module of its own and NumPy."""
    folder = tmp_path / "launching_plugin"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "loading.py").write_text("def load():\n    from launching_plugin import calls\n")
    (folder / "calls.py").write_text("import numpy\nimport json\n")
    (folder / "other.py").write_text("raise RuntimeError('nobody imports this')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return folder


def digest() -> str | None:
    launching_code._digest.cache_clear()
    return launching_digest("launching_plugin.loading:load")


def test_a_change_of_what_a_loader_imports_is_another_digest(package: Path) -> None:
    before = digest()
    (package / "other.py").write_text("")
    assert digest() == before
    (package / "calls.py").write_text("import numpy\nimport json\nTHREADS = 2\n")
    assert digest() != before


EDITS = {
    "a relative import": ("from . import calls", "launching_plugin/calls.py"),
    "a name of a relative import": ("from .calls import Call", "launching_plugin/calls.py"),
    "a package beside it": (f"from {HELPER}.streams import launch", f"{HELPER}/streams.py"),
    "a package that it names": (f"import_module('{HELPER}.streams')", f"{HELPER}/streams.py"),
    "a library in the package": ("import ctypes", "launching_plugin/kernels.so"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_a_process_sees_what_is_edited_of_all_that_launches(package: Path, edit: str) -> None:
    code, edited = EDITS[edit]
    for file in ("__init__.py", "streams.py"):
        (package.parent / HELPER).mkdir(exist_ok=True)
        (package.parent / HELPER / file).write_text("")
    (package / "loading.py").write_text(f"def load():\n    {code}\n")
    (package / "kernels.so").write_text("one")
    importlib.invalidate_caches()
    before = launching_digest("launching_plugin.loading:load")
    (package / "other.py").write_text("1")
    assert launching_digest("launching_plugin.loading:load") == before
    (package.parent / edited).write_text("THREADS = 16\nraise RuntimeError('it is read, not imported')\n")
    assert launching_digest("launching_plugin.loading:load") not in (before, None)
    assert not [name for name in sys.modules if name.partition(".")[0] in (package.name, HELPER)]


def test_another_version_of_what_it_imports_is_another_digest(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = digest()
    monkeypatch.setattr(launching_code.importlib.metadata, "version", lambda name: "0.0")
    assert digest() != before


def test_code_that_every_call_goes_through_counts(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = digest()
    monkeypatch.setattr(launching_code, "ALWAYS", ())
    assert digest() != before


def test_a_loader_that_is_not_there_has_none() -> None:
    assert launching_digest("no_such_package.loading:load") is None


def test_loaders_of_targets_differ() -> None:
    loaders = ("harness.targets.cpu.executable:load", "harness.variants.baselines.iree.calls:load")
    assert len({launching_digest(loader) for loader in loaders} - {None}) == 2


def test_a_loader_in_another_encoding_or_in_a_zip_file_has_a_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = "# -*- coding: latin-1 -*-\n# André\ndef load(artifact, folder): ...\n".encode("latin-1")
    (tmp_path / "in_latin_1.py").write_bytes(source)
    with zipfile.ZipFile(tmp_path / "zipped.zip", "w") as archive:
        archive.writestr("in_a_zip/__init__.py", "def load(artifact, folder): ...\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path / "zipped.zip"))
    assert launching_digest("in_latin_1:load") is not None
    assert launching_digest("in_a_zip:load") is not None
    code_digest.cache_clear()
    before = code_digest("in_a_zip")
    with zipfile.ZipFile(tmp_path / "zipped.zip", "w") as archive:
        archive.writestr("in_a_zip/__init__.py", "def load(artifact, folder): return None\n")
    code_digest.cache_clear()
    assert code_digest("in_a_zip") != before
