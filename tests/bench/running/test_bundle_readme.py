"""What a bundle tells who receives it."""

import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from example_cases import example_case
from example_results import example_manifest

from harness.__main__ import main
from harness.bench.running.bundle import Bundle, BundledCase, BundleIndex
from harness.bench.running.bundle_readme import README_FILE, readme
from harness.system.status import Status

COMMIT = "0123456789abcdef"
EXPERIMENT = """
name = "padded"
question = "Are packed sequences all that it takes?"
variants = ["varlen"]

[problem]
heads = 1
head_dim = 16
seq = 16
"""


def bundle_of(folder: Path, **told: Any) -> Bundle:
    manifest = example_manifest().model_copy(update={"git_commit": COMMIT, "git_dirty": False, **told})
    entries = [
        BundledCase(case=example_case(), key="k", status=Status.BUILT, digest="d"),
        BundledCase(case=example_case(seq=77), key=None, status=Status.UNSUPPORTED, reason="no such width"),
    ]
    return Bundle(folder, BundleIndex(manifest=manifest, cases=tuple(entries)))


def commands(text: str) -> list[str]:
    blocks = re.findall(r"^```sh\n(.*?)\n```$", text, re.DOTALL | re.MULTILINE)
    return [line for block in blocks for line in block.splitlines()]


def words_in_bash(line: str) -> list[str]:
    script = f"words() {{ printf '%s\\0' \"$@\"; }}; words {line}"
    told = subprocess.run(["bash", "-c", script], capture_output=True, check=True, text=True)
    return told.stdout.split("\0")[:-1]


def test_names_are_quoted(tmp_path: Path) -> None:
    told = {
        "question": "<b>why</b>\x1b[2J?",
        "source_name": "a`b.toml",
        "profile": "x\n```\nrm y\n```",
    }
    text = readme(bundle_of(tmp_path / "a; touch b", **told))
    assert "&lt;b&gt;why&lt;/b&gt;\\x1b[2J?" in text
    assert "(`` a`b.toml ``, profile ````" in text
    assert words_in_bash(commands(text)[-1])[3] == "./a; touch b"
    assert text.count("\n```") == 6


def test_its_commands_run_the_bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a bundle without an artifact, whose case ends as it did where it was built."""
    monkeypatch.chdir(tmp_path)
    Path("padded.toml").write_text(EXPERIMENT)
    assert main(["build", "padded.toml", "--bundle", "a bundle", "--plain"]) == 0
    line = commands(Path("a bundle", README_FILE).read_text())[-1]
    assert main([*shlex.split(line)[1:], "--plain"]) == 0
