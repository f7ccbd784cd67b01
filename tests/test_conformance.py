"""Random problems over all that can be asked for: each is right, or refused with a reason."""

from collections import Counter
from itertools import islice
from pathlib import Path

import pytest
from conformance_problems import Space
from sweeps import sweep

from harness.bench.running.progress import make_observer
from harness.bench.running.runner import run_experiment
from harness.experiment.experiment import Experiment
from harness.problem.case import Case
from harness.system.status import Status

DISTRIBUTIONS = ("normal", "negative-logits")
"""Each case is checked with both."""
SPACES = {
    "cpu": Space("cpu"),
    "cuda": Space("cuda:sm_80", most_heads=2, longest=200),
    "rocm-wave64": Space("rocm:gfx942", most_heads=2, longest=200),
    "rocm-wave32": Space("rocm:gfx1100", dtypes=("f16", "bf16"), most_heads=2, longest=200),
    "xegpu": Space("xegpu:bmg", dtypes=("f16", "bf16"), most_heads=2, longest=200),
}
CHUNK = {"cpu": 100}
"""Cases of one test of the whole; 20 where emulated."""
WHOLE = {"cpu": 2000}
"""Cases of all tests together; 200 where emulated."""


def checked(folder: Path, cases: list[Case]) -> Counter[str]:
    """Check cases and return how many were right, and how many were refused for each reason."""
    experiment = Experiment.model_validate(
        {
            "name": "conformance",
            "question": "Is every problem right?",
            "variants": ("flash",),
            "targets": tuple({case.target for case in cases}),
            "problem": {"seq": 1, "head_dim": 8, "heads": 1},
            "check": {"distributions": DISTRIBUTIONS},
        }
    )
    summary = run_experiment(
        experiment,
        cases,
        out=folder,
        resume=False,
        timed=False,
        observer=make_observer(plain=True),
        command=["pytest"],
        jobs=2,
        cache_root=folder / "cache",
    )
    outcomes: Counter[str] = Counter()
    for result, case in zip(summary.results, cases, strict=True):
        assert not result.status.is_failure, f"{case.describe()}: {result.reason}"
        outcomes[str(result.reason) if result.status is Status.UNSUPPORTED else result.status.value] += 1
    return outcomes


def chunk_of(space: str, number: int, count: int) -> list[Case]:
    """Return that many different cases; those of each number are others."""
    drawn = islice(SPACES[space].cases(seed=number), 2 * count)
    return list({case.id: case for case in drawn}.values())[:count]


def test_drawn_problems_are_the_same_again_and_of_many_kinds() -> None:
    cases = chunk_of("cpu", 0, 500)
    assert [case.id for case in cases] == [case.id for case in chunk_of("cpu", 0, 500)]
    problems = [case.problem for case in cases]
    for kind in (
        [p for p in problems if p.is_packed],
        [p for p in problems if p.kv_lengths is not None],
        [p for p in problems if p.mask and p.bias],
        [p for p in problems if p.window is not None and p.causal],
        [p for p in problems if p.softcap is not None],
        [p for p in problems if p.model_width is not None],
        [p for p in problems if p.queries_without_keys()],
        [p for p in problems if p.seq_q == 1],
        [p for p in problems if p.head_dim != p.head_dim_v],
    ):
        assert len(kind) >= 5


@pytest.mark.parametrize("space", sweep(SPACES, but=["cpu"]))
def test_random_problems_are_right_or_refused(space: str, tmp_path: Path) -> None:
    count = 2 if space == "cpu" else 10
    outcomes = checked(tmp_path, chunk_of(space, 0, count))
    assert outcomes[Status.PASSED.value] + outcomes[Status.EMULATED.value] > 0
    assert sum(outcomes.values()) == count


def whole() -> list[tuple[str, int]]:
    """Return the chunks of all cases."""
    return [
        (space, number)
        for space in SPACES
        for number in range(1, 1 + WHOLE.get(space, 200) // CHUNK.get(space, 20))
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("space", "number"), whole())
def test_the_whole_space(space: str, number: int, tmp_path: Path) -> None:
    cases = chunk_of(space, number, CHUNK.get(space, 20))
    outcomes = checked(tmp_path, cases)
    for outcome, count in sorted(outcomes.items()):
        print(f"{space} {number}: {count} {outcome}")
