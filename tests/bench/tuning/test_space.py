"""What a search chooses from."""

from typing import Any

import pytest

from harness.bench.tuning.space import SearchSpace, spaces_of
from harness.experiment.experiment import Experiment
from harness.system.errors import InputError


def spaces(chip: str = "cpu", **sections: Any) -> list[SearchSpace]:
    problem = {"seq": 256, "heads": 2, "head_dim": 32, "dtype": "f16"}
    settings = {"name": "t", "question": "?", "variants": ["flash"], "targets": [chip], "problem": problem}
    return spaces_of(Experiment.model_validate({**settings, **sections}).cases())


def values(space: SearchSpace) -> dict[str, Any]:
    return {setting.name: setting.values for setting in space.settings}


def test_what_no_case_sets_has_the_values_that_are_declared() -> None:
    (space,) = spaces()
    assert values(space)["kv_splits"] == (1, 2, 4, 8, 16)
    assert space.default.params == {"division": "final"}


def test_lists_of_an_experiment_are_the_whole_choice_and_single_values_stay() -> None:
    (space,) = spaces(variant={"flash": {"tile_kv": [32, 80], "tile_q": 16}})
    assert values(space)["tile_kv"] == (32, 80)
    assert "tile_q" not in values(space)
    assert space.default.params == {"division": "final", "tile_q": 16}


def test_other_settings_make_searches_of_their_own() -> None:
    division = {"division": ["final", "every-step"]}
    both = spaces(variant={"flash": division}, target={"cpu": {"threads": [1, 2]}})
    settings = [(space.default.params["division"], space.default.target_options["threads"]) for space in both]
    assert sorted(settings) == [("every-step", 1), ("every-step", 2), ("final", 1), ("final", 2)]


def test_the_defaults_values_join_and_what_nobody_tells_can_be_left_open() -> None:
    (space,) = spaces("cuda:sm_80")
    with_default = values(space.with_default({"tile_q": 80, "tile_kv": 64, "staging_slots": 2}))
    assert with_default["tile_q"][6:9] == (64, 80, 96)
    assert with_default["warps"] == (None, 1, 2, 4, 8, 16)
    assert with_default["staging_slots"] == (1, 2)
    assert "prefetches" not in with_default  # an option that means nothing to the case


def test_a_point_is_a_case_and_back() -> None:
    (space,) = spaces("cuda:sm_80")
    point = {**dict.fromkeys(values(space)), "tile_q": 64, "staging_slots": 1}
    case = space.case(point)
    assert (case.params["tile_q"], case.target_options) == (64, {"staging_slots": 1})
    assert space.point_of(case.settings) == point


def test_settings_that_do_not_fit_each_other_are_an_input_error() -> None:
    (space,) = spaces(variant={"flash": {"tile_kv": [32, 64]}})
    with pytest.raises(InputError, match="tile_kv"):
        space.case({**dict.fromkeys(values(space)), "tile_kv": 5000})


def test_neighbours_are_one_step_away() -> None:
    (space,) = spaces()
    space = space.without(["warps", "grid_order", "kv_splits"])
    near = space.neighbours({"tile_q": 32, "tile_kv": 8})
    assert [tuple(point.values()) for point in near] == [(24, 8), (48, 8), (32, 12)]
    assert space.size == len(list(space.points())) == 11 * 13
