"""What is said of a wrong output: how many rows, where they lie, and what the first one holds."""

import numpy as np
import pytest

from harness.oracle.expected import Expected
from harness.oracle.wrong_rows import describe_places

BATCH, HEADS, QUERIES, WIDTH = 1, 4, 8, 6


def expected() -> Expected:
    shape = (BATCH, HEADS, QUERIES)
    return Expected("f32", np.ones((*shape, WIDTH)), np.full(shape, 0.01), np.zeros(shape))


def details_of(output: np.ndarray) -> str:
    details = expected().check(output.astype(np.float32)).details
    assert details is not None
    return details


def test_a_tile_of_one_head_is_named_with_its_first_value() -> None:
    output = np.ones((BATCH, HEADS, QUERIES, WIDTH))
    output[0, 1, 4:8, 2:4] = 0.5
    assert details_of(output) == (
        "4 of 32 rows: head 1, queries 4–7, columns 2–3; first: column 2, expected 1, found 0.5"
    )


def test_a_pattern_over_heads_and_queries_is_seen() -> None:
    output = np.ones((BATCH, HEADS, QUERIES, WIDTH))
    output[0, :, 1::2] = np.nan
    assert details_of(output) == (
        "16 of 32 rows: all heads, queries 1, 3 … 7, all columns; first: column 0, expected 1, found nan"
    )


@pytest.mark.parametrize(
    ("places", "text"),
    [
        (range(8), "all queries"),
        ([3], "query 3"),
        ([2, 3, 4], "queries 2–4"),
        ([0, 4], "queries 0, 4 … 4"),
        ([0, 1, 5], "3 of 8 queries, 0 … 5"),
    ],
)
def test_places_along_an_axis_in_words(places: list[int], text: str) -> None:
    assert describe_places(np.array(places), 8, "query") == text


def test_a_dump_holds_both_arrays(tmp_path) -> None:
    output = np.zeros((BATCH, HEADS, QUERIES, WIDTH), np.float32)
    expected().dump({"output": output}, tmp_path / "new" / "wrong.npz")
    with np.load(tmp_path / "new" / "wrong.npz") as arrays:
        assert set(arrays) == {"expected", "found", "tolerance"}
        np.testing.assert_array_equal(arrays["found"], output)
        np.testing.assert_array_equal(arrays["expected"], np.ones_like(output))
