"""What the model says of a loop as a whole, and the columns of a row that it becomes."""

import pytest
from test_simulation import CHIP

from harness.codegen.bounds.instruction import ALU, TENSOR, Instruction
from harness.codegen.bounds.loop_model import KernelLoop, LoopModel, Residency, Unmodelled, model_loop

PRODUCT = Instruction(pipe=TENSOR, pipe_cycles=10, peak_cycles=8, multiply_adds=2048)
READ = Instruction(shared_bytes=512, operand_bytes=512)
OTHER = Instruction(pipe=ALU, pipe_cycles=2)
TRACE = [PRODUCT] * 4 + [READ] * 2 + [OTHER]
CLASSES = ["matrix"] * 4 + ["shared"] * 2 + ["integer"]
ROOM = Residency(registers=128, shared_bytes=4096, limits={"registers": 4, "shared memory": 1})


def loop(trace=TRACE, classes=CLASSES, **changes: object) -> KernelLoop:
    given = {"residency": ROOM, "multiply_adds_per_score": 128, **changes}
    return KernelLoop("attention", tuple(trace), tuple(classes), warps=4, **given)


def model(**changes: object) -> LoopModel:
    return model_loop(loop(**changes), CHIP)


def test_the_fraction_is_of_the_dense_peak_and_not_of_the_pipe() -> None:
    found = model()
    assert found.cycles == pytest.approx(40, rel=0.1)
    assert found.fraction_of_peak == pytest.approx(4 * 8 / found.cycles)
    assert found.bound == "tensor"


def test_scores_follow_from_matrix_products() -> None:
    found = model()
    assert found.scores == 4 * 2048 * 4 / 128
    assert found.per_score(7) == pytest.approx(7 * 4 * 32 / found.scores)
    assert model(multiply_adds_per_score=None).scores is None


def test_the_peak_is_of_the_whole_chip_and_counts_scores() -> None:
    found = model(flops_per_score=10)
    assert found.peak_flops_per_cycle == pytest.approx(CHIP.count * found.scores * 10 / (4 * 8))
    assert model().peak_flops_per_cycle is None
    assert model(multiply_adds_per_score=None, flops_per_score=10).peak_flops_per_cycle is None


def test_shared_memory_is_counted_for_each_matrix_instruction() -> None:
    assert model().shared_bytes_per_mma == 2 * 512 / 4


def test_columns_have_what_is_known() -> None:
    found = model()
    columns = found.columns()
    assert columns["bound"] == "tensor"
    assert columns["workgroups"] == 1
    assert columns["tensor_cycles"] == found.pipe_cycles["tensor"]
    assert columns["matrix_per_score"] == found.per_score(4)
    unknown = model(multiply_adds_per_score=None).columns()
    assert not any(name.endswith("per_score") or name == "scores" for name in unknown)


def test_the_least_resource_decides_how_many_workgroups_there_are() -> None:
    assert ROOM.workgroups == 1
    none = Residency(registers=255, shared_bytes=0, limits={"registers": 0, "warps": 16})
    with pytest.raises(Unmodelled, match="attention: a multiprocessor has not enough registers"):
        model(residency=none)


def test_a_model_survives_json() -> None:
    found = model()
    assert LoopModel.model_validate_json(found.model_dump_json()) == found


@pytest.mark.parametrize(
    ("grid", "share"),
    [
        (1000, 1.0),
        (10, 1.0),
        (5, 0.5),  # half of the multiprocessors have nothing to do
        (15, 0.75),  # five have two workgroups, five one
    ],
)
def test_a_small_grid_leaves_multiprocessors_idle(grid: int, share: float) -> None:
    found = model(grid=grid)
    assert found.grid_fraction_of_peak == pytest.approx(found.fraction_of_peak * share)


def test_a_small_grid_has_fewer_workgroups_together() -> None:
    """Alone on its multiprocessor, a workgroup has nobody to hide its latency."""
    waiting = [Instruction(latency=100, result_flag=0), Instruction(waits=(0,)), PRODUCT]
    two = Residency(registers=128, shared_bytes=0, limits={"registers": 2})
    found = model(trace=waiting, classes=["a", "b", "matrix"], residency=two, grid=CHIP.count)
    assert found.grid_fraction_of_peak == pytest.approx(found.fraction_of_peak / 2, rel=0.1)
