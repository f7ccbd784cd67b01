"""Distributions whose files are damaged: commands go on, and say so in one line."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness import plugins
from harness.__main__ import main
from harness.cli import doctor
from harness.errors import PluginError
from harness.results.manifest import package_versions

METADATA = "Metadata-Version: 2.1\nName: damaged\nVersion: 1.0\n"
PLUGINS = "[harness.variants]\n{}\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The `*.dist-info` of a distribution that is found."""
    folder = tmp_path / "damaged-1.0.dist-info"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    plugins._registered.cache_clear()
    plugins._made.clear()
    plugins._tell_once.cache_clear()
    for read in ("_registered", "_declarations"):
        monkeypatch.setattr(plugins, read, getattr(plugins, read).__wrapped__)
    return folder


@pytest.mark.parametrize("metadata", [None, "", "Name: damaged\n"])
def test_without_a_name_or_a_version(
    folder: Path, metadata: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "entry_points.txt").write_text(PLUGINS.format("damaged = damaged:Damaged"))
    if metadata is not None:
        (folder / "METADATA").write_text(metadata)
    assert "damaged" not in package_versions()
    package_versions()
    (line,) = capsys.readouterr().err.splitlines()
    assert "which declares the variant 'damaged': its name or its version is missing" in line


def test_entry_points_that_cannot_be_read(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "METADATA").write_text(METADATA)
    (folder / "entry_points.txt").write_text("[harness.variants]\nthis is no entry point\n")
    assert main(["list", "variants"]) == 0
    package_versions()
    captured = capsys.readouterr()
    assert "flash " in captured.out
    (line,) = captured.err.splitlines()
    assert line.startswith(f"harness: damaged in {folder.parent}: its entry points cannot be read: ")


@pytest.mark.parametrize("value", ["", "module", ":Class", "module:", "no module:Class"])
def test_an_entry_point_that_names_no_class(
    folder: Path, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "METADATA").write_text(METADATA)
    (folder / "entry_points.txt").write_text(PLUGINS.format(f"damaged = {value}"))
    with pytest.raises(PluginError, match=f"^variant 'damaged': found '{value}', expected module:Class$"):
        plugins.load("variant", "damaged")
    assert "" not in plugins.packages()
    assert main(["list", "variants"]) == 0
    assert f"variant 'damaged': found '{value}', expected module:Class" in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["variants", "targets"])
def test_a_command_goes_on_although_libraries_read_all_entry_points(folder: Path, kind: str) -> None:
    """Pydantic reads them for plugins of its own."""
    (folder / "entry_points.txt").write_text("[pydantic]\nthis is no entry point\n")
    path = os.pathsep.join([str(folder.parent), os.environ.get("PYTHONPATH", "")])
    words = [sys.executable, "-m", "harness", "list", kind]
    environment = {**os.environ, "PYTHONPATH": path}
    environment.pop("PYDANTIC_DISABLE_PLUGINS", None)
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"harness: a distribution in {folder.parent}: its entry points cannot be read: ")


def test_the_doctor_tells_of_a_package_without_a_version(folder: Path) -> None:
    (folder / "METADATA").write_text("Name: damaged\n")
    (finding,) = doctor.package_findings(["damaged==1.0"])
    assert finding.state is doctor.State.BROKEN
    assert finding.detail.startswith("its version cannot be read: ")
