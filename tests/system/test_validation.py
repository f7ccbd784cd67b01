"""The one strict validation: what is taken as a number, and what is said of everything else."""

import itertools
from typing import Any, Literal

import numpy as np
import pytest
from pydantic import BaseModel, ConfigDict, PositiveInt, ValidationError

from harness.system.errors import MOST_LINES, InputError
from harness.system.validation import closest, each_once, messages, plain, validated


class Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    tile: PositiveInt | None = None
    share: float = 0.5
    fast: bool = False
    order: Literal["a", "b"] = "a"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (np.int64(8), 8),
        (np.float32(0.5), 0.5),
        (np.bool_(True), True),
        (np.array(3), 3),
        (np.array([1, 2]), (1, 2)),
        ([np.int8(1), [2.5]], (1, (2.5,))),
        ("text", "text"),
        (None, None),
    ],
)
def test_numpy_s_numbers_are_numbers(given: Any, expected: Any) -> None:
    assert plain(given) == expected
    assert type(plain(given)) is type(expected)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"tile": "16"}, 'tile: Input should be a valid integer, found "16"'),
        ({"tile": np.array([16])}, "tile: Input should be a valid integer, found [16]"),
        ({"fast": 1}, "fast: Input should be a valid boolean, found 1"),
        ({"order": "c"}, "order: Input should be 'a' or 'b', found \"c\""),
        ({"tiel": 1}, "tiel: unknown key (did you mean tile?); allowed: tile, share, fast, order"),
    ],
)
def test_settings_of_another_kind_are_one_line(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        validated(Settings, values)
    assert messages(caught.value, model=Settings) == [message]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"tile": 10**30}, "tile: found an integer of 100 bits, expected one of at most 64 bits"),
        ({"tile": 10**4000}, "tile: found an integer of 13288 bits, expected"),
        ({"tile": object}, "tile: found type "),
    ],
)
def test_what_no_setting_can_be_is_one_line(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        validated(Settings, values)


def test_the_closest_name_is_suggested() -> None:
    assert closest("stile", ["title", "style"]) == "style"
    assert closest("tiel", ["order", "tile"]) == "tile"
    assert closest("something", ["order", "tile"]) is None


def test_one_and_true_are_different_values() -> None:
    assert each_once((1, True, 1.0, ("a",), ["a"])) == (1, True, 1.0, ("a",), ["a"])


class TestInputError:
    def test_of_many_mistakes_the_first_are_told(self) -> None:
        lines = InputError(*itertools.repeat("wrong", 20_000)).lines
        assert len(lines) == MOST_LINES + 1
        assert lines[-1] == f"and {20_000 - MOST_LINES} more mistakes"
