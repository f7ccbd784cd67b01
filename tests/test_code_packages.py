"""Which packages the code of a plugin lies in, tried on packages that are written for it."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.code_packages import code_packages, imported_from_beside
from harness.plugins import variant

SOURCES = {
    "a_plugin/__init__.py": "",
    "a_plugin/variant.py": "from a_base.common import Base\nclass Plugin(Base): pass",
    "a_plugin/later.py": "def build():\n    import json, some_kernels, numpy\n    from . import variant",
    "a_base/__init__.py": "",
    "a_base/common.py": "class Base: pass",
    "some_kernels.py": "import more_kernels",
    "more_kernels.py": "import some_kernels",
    "unrelated.py": "import a_plugin",
}


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of packages that import one another, which is on the path."""
    imported_from_beside.cache_clear()
    folder = tmp_path / "repository"
    write(folder)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.syspath_prepend(str(tmp_path / "site-packages"))
    yield folder
    for name in {Path(file).parts[0].removesuffix(".py") for file in SOURCES}:
        for module in [module for module in sys.modules if module.partition(".")[0] == name]:
            del sys.modules[module]


def write(folder: Path, *names: str) -> None:
    for file, text in SOURCES.items():
        if not names or file.startswith(names):
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_text(text)


def plugin() -> object:
    importlib.invalidate_caches()
    return importlib.import_module("a_plugin.variant").Plugin()


def test_bases_and_what_isimported_from_beside_are_a_plugin_s_code(repository: Path) -> None:
    assert code_packages(plugin()) == {"a_plugin", "a_base", "some_kernels", "more_kernels"}


def test_a_class_that_is_made_by_a_call_is_the_code_of_its_bases(repository: Path) -> None:
    made = type("Made", (type(plugin()),), {"__module__": "abc"})
    assert code_packages(made()) == code_packages(plugin())


def test_installed_packages_that_a_base_is_of_count_and_their_neighbours_do_not(repository: Path) -> None:
    for file in ("a_base/common.py", "a_base/__init__.py"):
        (repository / file).unlink()
    (repository / "a_base").rmdir()
    write(repository.parent / "site-packages", "a_base")
    (repository.parent / "site-packages" / "a_base" / "common.py").write_text("import far\nclass Base: pass")
    (repository.parent / "site-packages" / "far.py").touch()
    assert code_packages(plugin()) == {"a_plugin", "a_base", "some_kernels", "more_kernels"}


def test_a_file_that_is_no_python_imports_nothing(repository: Path) -> None:

    (repository / "a_plugin" / "later.py").write_text("import some_kernels\nthis is no Python")
    assert code_packages(plugin()) == {"a_plugin", "a_base"}


def test_a_variant_of_the_harness_is_its_code_alone() -> None:
    assert code_packages(variant("flash")) == {"harness"}
