"""`--shard`: parts of an experiment that are disjoint, together all of it, and about as large."""

from pathlib import Path

import pytest

from harness.experiment.experiment import Experiment, load_experiment
from harness.experiment.sharding import cases_of_shard
from harness.problem.case import Case
from harness.system.errors import InputError

FOLDER = Path(__file__).parents[2] / "experiments"


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return load_experiment(FOLDER / "correctness.toml").cases()


@pytest.fixture(scope="module")
def parts(cases: list[Case]) -> list[list[Case]]:
    return [cases_of_shard(f"{number}/8", cases) for number in range(1, 9)]


def test_parts_are_disjoint_and_together_all(cases: list[Case], parts: list[list[Case]]) -> None:
    places = {case.id: place for place, case in enumerate(cases)}
    dealt = [[places[case.id] for case in part] for part in parts]
    assert sorted(place for part in dealt for place in part) == list(range(len(cases)))
    assert all(part == sorted(part) for part in dealt), "in their order"


def test_parts_are_about_as_large(cases: list[Case], parts: list[list[Case]]) -> None:
    largest_group = max(map(len, Experiment.groups(cases)))
    sizes = list(map(len, parts))
    assert max(sizes) - min(sizes) <= largest_group
    work = [sum(case.problem.flops() for case in part) for part in parts]
    assert max(work) < 2 * min(work)


def test_what_is_timed_together_stays_together(cases: list[Case], parts: list[list[Case]]) -> None:
    groups = {case.id: number for number, group in enumerate(Experiment.groups(cases)) for case in group}
    places = {(groups[case.id], number) for number, part in enumerate(parts) for case in part}
    assert len(places) == len(set(groups.values()))


@pytest.mark.parametrize("shard", ["2", "0/8", "9/8", "a/b", "1/0", "-1/2", "1/2/3", ""])
def test_what_names_no_part_is_one_line(cases: list[Case], shard: str) -> None:
    with pytest.raises(InputError, match=r"--shard: found .*, expected I/N with I from 1 to N"):
        cases_of_shard(shard, cases)


def test_more_parts_than_groups_are_refused(cases: list[Case]) -> None:
    (group, *_) = Experiment.groups(cases)
    with pytest.raises(InputError, match="the cases are 1 group, each timed together"):
        cases_of_shard("2/2", group)
