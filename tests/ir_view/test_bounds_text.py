"""`harness ir --bounds`: the main loop, instruction by instruction, and what follows for the whole."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from harness import plugins
from harness.codegen.bounds.instruction import ALU, TENSOR, Instruction
from harness.codegen.bounds.listing import ListedInstruction, LoopListing
from harness.codegen.bounds.loop_model import KernelLoop, Residency, model_loop
from harness.codegen.bounds.multiprocessor import Multiprocessor
from harness.ir_view.bounds import bounds_text
from harness.system.errors import InputError

CHIP = Multiprocessor(
    lanes=8,
    count=4,
    sub_cores=2,
    shared_bytes_per_cycle=32,
    l2_bytes_per_cycle=16,
    l2_latency=50,
    barrier_latency=4,
    operand_read_cycles=2,
)
LINES = (
    ListedInstruction(
        "read a, [shared]", "shared", Instruction(shared_bytes=64, operand_bytes=64, result_flag=3)
    ),
    ListedInstruction(
        "product c, a, b",
        "matrix",
        Instruction(pipe=TENSOR, pipe_cycles=40, peak_cycles=40, multiply_adds=64, stall=2, waits=(3,)),
    ),
    ListedInstruction("add " + "x" * 80, "integer", Instruction(pipe=ALU, pipe_cycles=1, operand_flag=1)),
    ListedInstruction("jump", "branch", Instruction()),
)
LOOP = KernelLoop(
    "attention",
    tuple(line.costs for line in LINES),
    tuple(line.kind for line in LINES),
    warps=2,
    residency=Residency(registers=60, shared_bytes=1024, limits={"registers": 2, "shared memory": 3}),
    multiply_adds_per_score=16,
)
MODEL = model_loop(LOOP, CHIP)


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The lines printed of an artifact of a target with a model."""
    listing = LoopListing("toy", LINES, MODEL, CHIP)
    target = SimpleNamespace(bounds=lambda artifact, folder: listing)
    monkeypatch.setattr(plugins, "target", lambda name: target)
    return bounds_text(artifact("toy")).splitlines()


def artifact(target: str) -> SimpleNamespace:
    case = SimpleNamespace(describe=lambda: f"flash · {target} · tiny", target=target)
    return SimpleNamespace(artifact=SimpleNamespace(case=case), folder=Path())


def words(lines: list[str], start: str) -> list[str]:
    (line,) = [line for line in lines if line.split()[:1] == [start]]
    return line.split()


def test_it_says_first_that_nothing_is_measured(shown: list[str]) -> None:
    assert shown[:2] == ["flash · toy · tiny", "A model, nothing here is measured: see docs/model.md."]


def test_each_instruction_has_class_pipe_cycles_and_control(shown: list[str]) -> None:
    assert words(shown, "1") == ["1", "read", "a,", "[shared]", "shared", "shared", "2", "1", "3", "(result)"]
    assert words(shown, "2") == ["2", "product", "c,", "a,", "b", "matrix", "tensor", "40", "2", "3"]
    assert words(shown, "3")[-5:] == ["alu", "1", "1", "1", "(operands)"]
    assert words(shown, "4") == ["4", "jump", "branch", "control", "1"]


def test_parts_and_the_fraction_of_the_peak_follow_from_the_model(shown: list[str]) -> None:
    (start,) = [
        number for number, line in enumerate(shown) if line.startswith("one iteration of one workgroup")
    ]
    assert [line.split()[0] for line in shown[start + 1 : start + 4]] == ["tensor", "issue", "shared"]
    assert words(shown, "tensor") == ["tensor", "40", f"{40 / MODEL.cycles:.1%}"]
    assert any(f"of the dense peak: {MODEL.fraction_of_peak:.3f}, bound by tensor" in line for line in shown)


def test_it_is_of_no_stage() -> None:
    with pytest.raises(InputError, match="--bounds: expected without --stage, --diff, --counts and --out"):
        bounds_text(artifact("cpu"), other_options=True)
