"""Whether a run of a revision would run its code: where its packages are found."""

import re
from pathlib import Path

import pytest

from harness.comparing.code_origin import require_own_code
from harness.comparing.revisions import Revision
from harness.errors import InputError

PACKAGES = {"harness", "acme_attention"}


def package(folder: Path, text: str = "") -> Path:
    """Write a package of a plugin into a folder, and return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "acme_attention.py").write_text(text)
    return folder


def revision(tmp_path: Path) -> Revision:
    for name in ("clone", "repository"):
        (tmp_path / name).mkdir(exist_ok=True)
    return Revision("v1", "0" * 40, tmp_path / "clone", tmp_path / "repository")


@pytest.mark.parametrize("place", [".", "src"])
def test_a_package_that_is_found_in_the_revision_is_its_code(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is found before the one that is installed, and nothing of it runs."""
    monkeypatch.setenv("PYTHONPATH", str(package(tmp_path / "repository")))
    of_revision = revision(tmp_path)
    package(of_revision.folder / place, "raise ImportError('it runs')")
    require_own_code(of_revision, PACKAGES)


def test_working_files_are_no_revision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(package(tmp_path / "repository" / "python")))
    of_revision = revision(tmp_path)
    package(of_revision.folder / "python")
    place = tmp_path / "repository" / "python" / "acme_attention.py"
    message = (
        f"--revisions: v1 would run acme_attention ({place}), which is among the working files; expected"
    )
    with pytest.raises(InputError, match=re.escape(message)):
        require_own_code(of_revision, PACKAGES)


def test_what_is_installed_is_no_revision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(package(tmp_path / "installed")))
    with pytest.raises(InputError, match=r"v1 has no code of what runs: acme_attention \(.*\), harness \("):
        require_own_code(revision(tmp_path), PACKAGES)


def test_a_virtual_environment_in_the_repository_is_installed_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = package(tmp_path / "repository" / "venv" / "site-packages")
    monkeypatch.setenv("PYTHONPATH", str(environment))
    monkeypatch.setattr("sys.prefix", str(tmp_path / "repository" / "venv"))
    of_revision = revision(tmp_path)
    (of_revision.folder / "harness").mkdir()
    (of_revision.folder / "harness" / "__init__.py").touch()
    require_own_code(of_revision, PACKAGES)
