"""Which edits of a plugin give its cases other content keys, each asked for in a new process."""

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from forgotten_plugins import forget_plugins

from harness.bench.building.case_build import key_request
from harness.bench.workers.process import WorkerProcess
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case

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
        return worker.request(partial(key_request, case=CASE), 120).key


def test_edits_of_code_alone_give_another_key(site: Path) -> None:
    keys = [key()]
    for name in ("acme_edited/sweep.toml", "acme_edited/helper.py", "csrc/kernel.cu"):
        with (site / name).open("a") as file:
            file.write("# edited\n")
        keys.append(key())
    before, with_text, with_helper, with_kernel = keys
    assert before == with_text
    assert len({before, with_helper, with_kernel}) == 3
