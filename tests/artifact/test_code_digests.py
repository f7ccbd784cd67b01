"""Which files the digest of code covers, and what a plugin may declare beside its package."""

import importlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness import plugins
from harness.artifact import code_digests as module
from harness.artifact.code_digests import OWN_PACKAGE, code_digest, code_of_plugin
from harness.system.errors import PluginError


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a package, in which the digests of a later process are those that are asked for."""
    folder = tmp_path / "a_package_of_kernels"
    (folder / "kernels").mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    monkeypatch.setattr(module, "code_digest", code_digest.__wrapped__)
    return folder


def is_covered(name: str, file: Path) -> bool:
    """Return whether an edit of a file changes the digest of the code of a name."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("one")
    before = module.code_digest(name)
    file.write_text("other")
    return module.code_digest(name) != before


@pytest.mark.parametrize("name", ["a.py", "a.cu", "a.S", "build/a.py"])
def test_code_of_any_language_in_a_package_is_its_code(package: Path, name: str) -> None:
    assert is_covered(package.name, package / "kernels" / name)


@pytest.mark.parametrize(
    "name",
    [
        "results/manifest.json",
        "notes.md",
        "env/lib/site-packages/numpy/a.py",
        "build/a.so",
        "../beside.py",
    ],
)
def test_results_installed_packages_and_what_lies_beside_are_not(package: Path, name: str) -> None:
    assert not is_covered(package.name, package / name)


def test_code_that_is_not_found_is_an_error(package: Path) -> None:
    for name in ("no_such_package", f"{package.name}:../nowhere"):
        with pytest.raises(PluginError, match=f"^{name}: no source file is found$"):
            module.code_digest(name)


def declaring(package: Path, sources: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the plugin `flash` be one of a package that declares sources."""
    monkeypatch.setattr(plugins, "load", lambda kind, name: SimpleNamespace(sources=sources))
    monkeypatch.setattr(plugins, "packages_of", lambda variants, targets: {package.name})


@pytest.mark.parametrize(
    ("sources", "told"),
    [
        ("../csrc", "Input should be a valid tuple"),
        (("/csrc",), r"found ./csrc., expected a path from the folder of the plugin's package"),
        (("../nowhere",), r"a_package_of_kernels:\.\./nowhere: no source file is found"),
    ],
)
def test_what_is_wrong_with_declared_sources_is_told(
    sources: Any, told: str, package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    declaring(package, sources, monkeypatch)
    with pytest.raises(PluginError, match=told):
        code_of_plugin("variant", "flash")


def test_all_code_of_the_harness_is_covered() -> None:
    folder = Path(__file__).parents[2] / OWN_PACKAGE
    covered = {path.suffix for _, path in module._files(OWN_PACKAGE, module._places(OWN_PACKAGE))}
    others = {path.suffix for path in folder.rglob("*") if path.is_file()} - covered
    assert others <= {".pyc", ".css", ".csv", ".js", ".md", ".typed"}
    assert not any("reporting" in name for name, _ in module._files(OWN_PACKAGE, module._places(OWN_PACKAGE)))
