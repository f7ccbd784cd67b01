"""Which files of a package its digest covers."""

import importlib
import sys
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path

import pytest

from harness.code_packages import named_packages
from harness.digest import OWN_PACKAGE, digest_of_sources, source_stamps

INSTALLED_IN_IT = (
    ".venv/lib/a.py",
    "env/lib/python3.11/site-packages/numpy/a.so",
    "node_modules/a/a.cc",
    "build/a.so",
)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "a_package_of_kernels"
    (folder / "kernels").mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    return folder


@pytest.mark.parametrize(
    "name",
    [
        "a.py",
        "a.cu",
        "a.cuh",
        "a.cpp",
        "a.cl",
        "a.hxx",
        "a.inl",
        "a.pyx",
        "a.cpp.in",
        "a.mlir",
        "a.ll",
        "a.ptx",
        "a.so",
        "a.j2",
        "a.jinja2",
        "a.S",
        "a.bc",
        "build/a.py",
    ],
)
def test_code_of_any_language_in_a_plugin_s_package_is_its_code(package: Path, name: str) -> None:
    file = package / "kernels" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("one")
    before = digest_of_sources(package.name), source_stamps([package.name])
    file.write_text("other")
    after = digest_of_sources(package.name), source_stamps([package.name])
    assert before[0] != after[0]
    assert before[1] != after[1]


@pytest.mark.parametrize(
    "name", ["results/manifest.json", "sweep.toml", "notes.md", "__pycache__/a.pyc", *INSTALLED_IN_IT]
)
def test_results_and_experiments_in_a_plugin_s_package_are_not(package: Path, name: str) -> None:
    before = digest_of_sources(package.name)
    (package / name).parent.mkdir(parents=True, exist_ok=True)
    (package / name).write_text("{}")
    assert digest_of_sources(package.name) == before


def test_linked_folders_of_sources_are_followed_once_and_links_to_data_are_not(package: Path) -> None:
    elsewhere, data = package.parent / "elsewhere", package.parent / "data"
    for folder in (elsewhere / "inner", data / "inner"):
        folder.mkdir(parents=True)
    (elsewhere / "inner" / "back").symlink_to(elsewhere)
    (package / "linked").symlink_to(elsewhere)
    (package / "data").symlink_to(data)
    source, other = elsewhere / "inner" / "a.py", data / "inner" / "a.py"
    (elsewhere / "kernel.cu").write_text("")
    digests = set()
    for file, text in ((source, "one"), (source, "other"), (other, "one"), (other, "other")):
        file.write_text(text)
        digests.add(digest_of_sources(package.name))
    assert len(digests) == 2
    names = [Path(name).relative_to(package).as_posix() for name, _, _ in source_stamps([package.name])]
    assert names == ["__init__.py", "linked/inner/a.py", "linked/kernel.cu"]


def test_a_package_whose_finder_names_no_folder_is_the_folder_of_its_module(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As editable installations of some build tools have it."""
    module = package / "__init__.py"

    class Finder:
        @staticmethod
        def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
            if name != "mapped":
                return None
            virtual = [str(package / "_loader.py" / name)]
            return spec_from_file_location(name, module, submodule_search_locations=virtual)

    monkeypatch.setattr(sys, "meta_path", [Finder, *sys.meta_path])
    (package / "kernels" / "a.py").write_text("import another_package_of_kernels")
    assert {Path(name).name for name, _, _ in source_stamps(["mapped"])} == {"__init__.py", "a.py"}
    (package.parent / "another_package_of_kernels.py").write_text("")
    assert "another_package_of_kernels" in named_packages("mapped")


def test_all_code_of_the_harness_is_covered() -> None:
    folder = Path(__file__).parents[1] / OWN_PACKAGE
    covered = {Path(name) for name, _, _ in source_stamps([OWN_PACKAGE])}
    others = {path.suffix for path in folder.rglob("*") if path.is_file()} - {path.suffix for path in covered}
    assert others <= {".pyc", ".css", ".csv", ".js", ".md", ".typed"}
