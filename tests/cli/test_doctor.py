"""The doctor: what it says of packages, targets, variants, the machine and the cache."""

import shlex
import sys
from pathlib import Path

import pytest
from example_plugins import use_example_plugins

from harness.cli import doctor
from harness.cli.doctor import Finding, State

PIP = f"{shlex.quote(sys.executable)} -m pip"


@pytest.fixture(autouse=True)
def _example_plugins(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    use_example_plugins(monkeypatch)
    monkeypatch.setenv("HARNESS_CACHE_DIR", str(tmp_path))


def stated(findings: list[Finding]) -> dict[str, tuple[State, str]]:
    return {finding.name: (finding.state, finding.detail) for finding in findings}


def test_packages_are_compared_with_their_pins(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = {"right": "1.2", "local": "1.2+cpu", "other": "1.3"}

    def version(name: str) -> str:
        if name not in installed:
            raise doctor.PackageNotFoundError(name)
        return installed[name]

    monkeypatch.setattr(doctor, "version", version)
    requirements = [
        "right==1.2",
        "local==1.2",
        "other==1.2",
        "gone==1.2",
        'optional==2.0; extra == "baselines"',
        'pytest==9.2.0; extra == "dev"',
    ]
    assert stated(doctor.package_findings(requirements)) == {
        "right": (State.OK, "1.2"),
        "local": (State.OK, "1.2+cpu"),
        "other": (State.WARNING, "1.3; tested with ==1.2"),
        "gone": (State.BROKEN, f"not installed: {PIP} install gone==1.2"),
        "optional": (State.ABSENT, f"not installed: {PIP} install 'attention-harness[baselines]'"),
    }


def test_targets_say_what_they_can_do_here() -> None:
    assert stated(doctor.target_findings()) == {
        "cpu build": (State.OK, "always"),
        "cpu emulate": (State.ABSENT, "install nothing"),
    }


def test_variants_say_what_they_lack() -> None:
    assert stated(doctor.variant_findings()) == {
        "flash": (State.OK, "the example flash [tool 1.0]"),
        "naive": (State.OK, "the example naive [tool 1.0]"),
        "unfused": (State.ABSENT, "install attention-harness[baselines]"),
        "broken": (State.FAULTY, "variant 'broken' cannot be imported: No module named 'nothing'"),
    }


@pytest.mark.parametrize(("load", "state"), [(0.0, State.NOTE), (1000.0, State.WARNING)])
def test_a_busy_machine_is_a_warning(monkeypatch: pytest.MonkeyPatch, load: float, state: State) -> None:
    monkeypatch.setattr(doctor.os, "getloadavg", lambda: (load, 0.0, 0.0))
    assert stated(doctor.machine_findings())["load"][0] is state


def test_the_caches_size_is_counted(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "kernel.o").write_bytes(bytes(2000))
    (tmp_path / "artifact.json").write_bytes(bytes(1000))
    finding = doctor.cache_finding(tmp_path)
    assert finding.state is State.NOTE
    assert finding.detail.startswith(f"{tmp_path} (3.0 kB in 2 files); ")


def test_a_cache_that_cannot_be_made_is_broken(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert doctor.cache_finding(tmp_path / "file").state is State.BROKEN


def test_only_what_is_broken_makes_it_unhealthy() -> None:
    def healthy(state: State) -> bool:
        return doctor.is_healthy([Finding(section="packages", name="x", state=state, detail="")])

    assert [state for state in State if not healthy(state)] == [State.BROKEN]
