"""Which packages the code of a plugin lies in, tried on packages that are written for it."""

import importlib
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from harness import plugins
from harness.code_packages import code_packages

SOURCES = {
    "a_plugin/__init__.py": "",
    "a_plugin/variant.py": "from a_base.common import Base\nclass Plugin(Base): pass",
    "a_plugin/later.py": "def build():\n    import json, some_kernels, numpy\n    from . import variant",
    "a_plugin/loading.py": 'LOADER = "a_runtime.calls:load"\nPATH = "unrelated"\nTEXT = "unrelated: no"',
    "a_plugin/parts.py": "from a_folder.softmax import attend",
    "a_folder/softmax.py": "",
    "a_plugin/calls.py": 'import importlib\nimportlib.import_module("a_helper.part")',
    "a_base/__init__.py": "",
    "a_base/common.py": "class Base: pass",
    "some_kernels.py": "import more_kernels",
    "more_kernels.py": "import some_kernels",
    "unrelated.py": "import a_plugin",
}
ELSEWHERE = {"a_runtime/__init__.py": "", "a_runtime/calls.py": "", "a_helper/__init__.py": ""}
ALL = {"a_plugin", "a_base", "some_kernels", "more_kernels", "a_runtime", "a_helper", "a_folder"}


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of packages that name one another and some of another folder; both are on the path."""
    write(tmp_path / "repository", SOURCES)
    write(tmp_path / "elsewhere", ELSEWHERE)
    for name in ("repository", "site-packages", "elsewhere"):
        monkeypatch.syspath_prepend(str(tmp_path / name))
    yield tmp_path / "repository"
    for module in [name for name in sys.modules if name.partition(".")[0] in {*ALL, "a_maker", "a_setting"}]:
        del sys.modules[module]


def write(folder: Path, sources: dict[str, str]) -> None:
    for file, text in sources.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text)


def plugin() -> object:
    importlib.invalidate_caches()
    return importlib.import_module("a_plugin.variant").Plugin()


@pytest.mark.usefixtures("repository")
def test_bases_imports_and_loaders_are_a_plugin_s_code() -> None:
    assert code_packages(plugin()) == ALL


@pytest.mark.usefixtures("repository")
def test_a_class_that_is_made_by_a_call_is_the_code_of_its_bases() -> None:
    made = type("Made", (type(plugin()),), {"__module__": "abc"})
    assert code_packages(made()) == ALL


@pytest.mark.parametrize("made_by", ["a_maker:make", "a_maker:maker.make"])
def test_what_makes_a_plugin_is_its_code_and_so_is_what_that_names(
    made_by: str, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    making = """
from a_plugin.variant import Plugin
from a_setting import SETTING
from pydantic import BaseModel
class maker:
    def make():
        plugin = Plugin()
        plugin.parameters = BaseModel
        return plugin
make = maker.make
"""
    write(repository, {"a_maker.py": making, "a_setting.py": "SETTING = 1"})
    importlib.invalidate_caches()
    entry = EntryPoint("made", made_by, "harness.variants")
    monkeypatch.setattr(plugins, "_registered", lambda kind: {"made": entry})
    monkeypatch.setattr(plugins, "_declarations", lambda kind: {"made": (entry,)})
    monkeypatch.setattr(plugins, "_made", {})
    assert code_packages(plugins.variant("made")) == ALL | {"a_maker", "a_setting"}


def test_an_installed_package_of_a_base_counts_and_what_it_names_there_does_not(repository: Path) -> None:
    for file in ("a_base/common.py", "a_base/__init__.py"):
        (repository / file).unlink()
    (repository / "a_base").rmdir()
    installed = {"a_base/__init__.py": "", "a_base/common.py": "import far\nclass Base: pass", "far.py": ""}
    write(repository.parent / "site-packages", installed)
    assert code_packages(plugin()) == ALL


def test_a_file_that_is_no_python_names_nothing(repository: Path) -> None:
    (repository / "a_plugin" / "later.py").write_text("import some_kernels\nthis is no Python")
    assert code_packages(plugin()) == ALL - {"some_kernels", "more_kernels"}


def test_a_library_that_is_named_has_a_version_instead(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.code_packages.MOST_FILES", 3)
    write(repository.parent / "elsewhere", {f"a_runtime/part{number}.py": "" for number in range(3)})
    assert code_packages(plugin()) == ALL - {"a_runtime"}


@pytest.mark.parametrize("own", ["a_folder/ours.py", "a_folder/ours.txt"])
def test_a_package_that_is_partly_installed_counts_for_the_python_that_is_not(
    own: str, repository: Path
) -> None:
    (repository / "a_folder" / "softmax.py").unlink()
    write(repository, {own: "import a_setting", "a_setting.py": ""})
    write(repository.parent / "site-packages", {"a_folder/softmax.py": ""})
    expected = ALL | {"a_setting"} if own.endswith(".py") else ALL - {"a_folder"}
    assert code_packages(plugin()) == expected


def test_a_variant_of_the_harness_is_its_code_alone() -> None:
    assert code_packages(plugins.variant("flash")) == {"harness"}
