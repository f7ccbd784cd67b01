"""How an exception becomes one line."""

import errno
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from mlir import ir

from harness import plugins
from harness.bench.building.case_build import build_request
from harness.bench.running.failure_kinds import failure_of
from harness.bench.running.worker import answer
from harness.bench.workers.protocol import Life
from harness.codegen.rewrites.errors import RewriteRefusedError
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.system.errors import BuildError, InputError, one_line, raised_in
from harness.system.status import Status
from harness.variants.flash import Flash
from harness.variants.schedule import Step

PROBLEM = AttentionProblem(heads=1, seq_q=16, head_dim=8)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ValueError("no such tile\nand more"), "ValueError: no such tile"),
        (ValueError(), "ValueError"),
        (ValueError("half \ud800 of it"), "ValueError: half \\ud800 of it"),
        (BuildError("error: first\n\nsecond"), "error: first · second"),
        (InputError("tile_q: found 0"), "tile_q: found 0"),
    ],
)
def test_the_first_line_tells(error, expected):
    assert one_line(error) == expected


def make_invalid(module: ir.Module) -> None:
    """Leave a tensor of unknown size behind that nobody says the size of."""
    unknown = ir.Type.parse("tensor<?x4xf32>")
    ir.Operation.create("tensor.empty", results=[unknown], ip=ir.InsertionPoint(module.body))


def refuse(module: ir.Module) -> None:
    raise RewriteRefusedError(module.operation, "it is too small")


INVALID = (
    'in step "tiled": MLIRError: Verification failed: '
    "'tensor.empty' op incorrect number of dynamic sizes, has 0, expected 1"
)
REFUSED = 'in step "tiled": builtin.module: it is too small'


def test_the_outer_place_comes_first():
    with pytest.raises(KeyError) as caught, raised_in("outer"), raised_in("inner"):
        raise KeyError("x")
    assert one_line(caught.value) == "in outer: in inner: KeyError: 'x'"


@pytest.mark.parametrize(
    ("rewrite", "status", "expected"),
    [(make_invalid, Status.CRASHED, INVALID), (refuse, Status.BUILD_FAILED, REFUSED)],
)
def test_a_worker_says_so_of_a_variants_step(monkeypatch, tmp_path, rewrite, status, expected):
    monkeypatch.setattr(Flash, "schedule", lambda *_: [Step("tiled", "", rewrite)])
    case = Case(problem=PROBLEM, variant="flash", target="cpu:avx2")
    failure = answer(partial(build_request, case=case, cache_root=tmp_path), Life())
    assert (failure.status, failure.reason) == (status, expected)


def test_a_stage_of_the_cpu_target_is_named(monkeypatch, tmp_path):
    from harness.targets.cpu import stages

    def fail(build: stages.CpuBuild) -> str:
        raise BuildError("no layout")

    failing = [replace(stage, run=fail) if stage.name == "lanes" else stage for stage in stages.STAGES]
    monkeypatch.setattr(stages, "STAGES", tuple(failing))
    case = Case(problem=PROBLEM, variant="flash", target="cpu:avx2")
    with pytest.raises(BuildError) as caught:
        plugins.variant("flash").build(case, "key", tmp_path)
    assert one_line(caught.value) == 'in stage "lanes": no layout'
    assert failure_of(caught.value).status is Status.BUILD_FAILED


def test_a_file_that_somebody_removed_from_the_cache_is_no_fault_of_the_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HARNESS_CACHE_DIR", str(tmp_path / "cache"))
    for folder, is_removed in (("cache", True), ("elsewhere", False)):
        failure = failure_of(FileNotFoundError(2, "gone", str(tmp_path / folder / "kernels.o")))
        assert (failure.status, failure.transient) == (Status.CRASHED, is_removed)


def test_a_file_that_may_not_be_so_large_has_found_no_room() -> None:
    assert failure_of(OSError(errno.EFBIG, "File too large")).no_room
