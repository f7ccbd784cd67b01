"""The manifest: what it tells, and what it must never tell."""

import getpass
import platform
from pathlib import Path

import pytest
from example_cases import example_case
from git_repositories import git

from harness.artifact.code_digests import code_digest, code_digests
from harness.experiment.experiment import load_experiment
from harness.results import manifest as manifests
from harness.results.format_version import FORMAT_VERSION
from harness.results.manifest import (
    Manifest,
    anonymous_command,
    collect,
    of_experiment,
    plugin_code,
)
from harness.system.machine.system import device_name, machine


@pytest.fixture
def manifest():
    return collect(
        "sweep", "Which is fastest?", 'name = "sweep"\n', "harness run a.toml", "experiments/a.toml"
    )


def test_a_manifest_holds_the_experiment_the_code_and_the_machine(manifest):
    assert manifest.format_version == FORMAT_VERSION
    assert (manifest.experiment, manifest.question) == ("sweep", "Which is fastest?")
    assert (manifest.source, manifest.source_name) == ('name = "sweep"\n', "a.toml")
    assert manifest.command == "harness run a.toml"
    assert manifest.code_digest == code_digest()
    assert manifest.machine == machine()
    assert manifest.device == device_name()
    assert (manifest.finished, manifest.resumed, manifest.bandwidths) == (None, (), {})


def test_a_manifest_survives_json(manifest):
    assert Manifest.model_validate_json(manifest.model_dump_json()) == manifest


def test_a_manifest_never_tells_home_or_host(manifest, tmp_path, monkeypatch):
    monkeypatch.setattr(platform, "node", lambda: "secret-host")
    monkeypatch.setattr(getpass, "getuser", lambda: "secret-user")
    monkeypatch.setenv("HOME", "/home/secret-user")
    words = [
        "/home/secret-user/venv/bin/harness",
        "run",
        "/home/secret-user/a.toml",
        "--out=/mnt/secret-host/results",
        "../secret-user/b.toml",
    ]
    text = collect("sweep", "?", "", words, "/home/secret-user/a.toml").model_dump_json()
    assert "secret" not in text


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["/srv/venv/bin/harness", "run", "experiments/a.toml"], "harness run experiments/a.toml"),
        (["/srv/harness/__main__.py", "list"], "harness list"),
        (
            ["harness", "run", "/data/x/a.toml", "--only", "variant=flash"],
            "harness run '…/a.toml' --only variant=flash",
        ),
        (["harness", "run", "a b.toml", "--out=~/r"], "harness run 'a b.toml' '--out=…/r'"),
        (["harness", "run", "a.toml", "--out", "/data/r"], "harness run a.toml --out '…/r'"),
        ("harness run '/data/a b.toml'", "harness run '…/a b.toml'"),
        ([], ""),
    ],
)
def test_a_command_keeps_only_the_names_of_paths_that_lead_elsewhere(words, expected):
    assert anonymous_command(words) == expected


EXPERIMENT = """
name = "sweep"
question = "Which is fastest?"
variants = ["flash"]
problem = {seq = 64, heads = 2, head_dim = 32}
profiles.small.problem.seq = 32
"""


def test_a_run_notes_what_names_its_experiment_wherever_it_was_started(tmp_path, monkeypatch):
    folder = tmp_path / "here"
    file = folder / "experiments" / "sweep.toml"
    file.parent.mkdir(parents=True)
    file.write_text(EXPERIMENT)
    command = ["harness.run", "sweep"]
    monkeypatch.chdir(folder)
    for path in (file, file.relative_to(folder)):
        named_by = of_experiment(load_experiment(path, "small"), [], command).named_by
        assert named_by == ("experiments/sweep.toml", "--profile", "small")
    monkeypatch.chdir(tmp_path)
    assert of_experiment(load_experiment(file), [], command).named_by == ("here/experiments/sweep.toml",)
    assert of_experiment(load_experiment(file), [], command, shard="2/8").shard == "2/8"
    bundle = ("--bundle", str(tmp_path / "built"))
    assert of_experiment(load_experiment(file), [], command, bundle).named_by == ("--bundle", "built")


@pytest.mark.usefixtures("example_plugin")
def test_the_code_of_plugins_is_noted_and_the_harness_s_is_elsewhere():
    assert plugin_code([example_case()]) == code_digests(["attention_example"])
    built_in = example_case().model_copy(update={"variant": "flash", "target": "cpu"})
    assert plugin_code([built_in]) == {}


def _repository(folder: Path) -> Path:
    """A git repository with a committed package in it."""
    package = folder / "harness"
    package.mkdir(parents=True)
    (package / "code.py").write_text("x = 1\n")
    (folder / "README").write_text("about\n")
    for arguments in (("init", "-q"), ("add", "."), ("commit", "-q", "-m", "Start")):
        git(folder, *arguments)
    return package


def test_the_git_state_is_the_checkouts_commit_and_whether_files_changed(tmp_path):
    package = _repository(tmp_path)
    head = git(tmp_path, "rev-parse", "HEAD").strip()
    assert manifests._git_state(package) == (head, False)
    (package / "code.py").write_text("x = 2\n")
    assert manifests._git_state(package) == (head, True)
