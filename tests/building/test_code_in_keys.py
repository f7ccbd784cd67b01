"""Which edits of a plugin give its cases other content keys, each asked for in a new process."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from forgotten_plugins import forget_plugins

from harness.building.case_build import KeyRequest
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.workers.process import WorkerProcess

CASE = Case(problem=AttentionProblem(heads=1, seq_q=8, head_dim=8), variant="edited", target="cpu", params={})
PLUGIN = """
from acme_edited.helper import FACTOR
from harness.variants.base import Variant

class Edited(Variant):
    name = "edited"
    summary = "a variant that has a kernel beside its package"
    sources = ("../csrc",)

    def supports(self, problem, target):
        return None

    def source(self, case):
        return "the same text whatever the code is"

    def build(self, case, key, folder):
        raise NotImplementedError
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a distribution that declares the variant `edited`."""
    files = {
        "edited-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: edited\nVersion: 1.0\n",
        "edited-1.0.dist-info/entry_points.txt": "[harness.variants]\nedited = acme_edited.plugin:Edited\n",
        "acme_edited/__init__.py": "",
        "acme_edited/plugin.py": PLUGIN,
        "acme_edited/helper.py": "FACTOR = 1.0\n",
        "acme_edited/sweep.toml": "",
        "csrc/kernel.cu": "",
        "beside.py": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    forget_plugins()
    yield tmp_path
    forget_plugins()


def key() -> str:
    """Return the content key that a new process finds."""
    with WorkerProcess() as worker:
        return worker.request(KeyRequest(case=CASE), 120).key


def test_two_processes_find_the_same_key(site: Path) -> None:
    assert key() == key()


@pytest.mark.parametrize(
    ("edited", "is_another"),
    [
        ("acme_edited/helper.py", True),
        ("csrc/kernel.cu", True),
        ("acme_edited/sweep.toml", False),
        ("beside.py", False),
    ],
)
def test_an_edit_of_code_gives_another_key_and_any_other_edit_none(
    edited: str, is_another: bool, site: Path
) -> None:
    before = key()
    with (site / edited).open("a") as file:
        file.write("# edited\n")
    assert (key() != before) == is_another
