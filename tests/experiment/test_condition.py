"""Conditions: what they mean, and what they refuse."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.experiment.condition import holds, parse_condition

LISTS = {"window": (4, 0), "causal_window": (4, None), "kv_lengths": (3,), "softcap": None, "batch": 2}
VALUES = {"seq": 512, "head_dim": 64, "dtype": "f32", "causal": True, "window": None}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("seq <= 2048 and head_dim == 64", True),
        ("not causal", False),
        ("causal == true", True),
        ("window == none", True),
        ("64 <= head_dim < 128", True),
        ("head_dim in (32, 64)", True),
        ("dtype not in ['f16', 'bf16']", True),
        ("seq % 128 == 0 and seq // 128 == 4", True),
        ("seq * head_dim - 1 + 1 == 32768", True),
        ("window == none or window < 3", True),
    ],
)
def test_a_condition_means_what_python_means(text: str, expected: bool) -> None:
    assert holds(parse_condition(text, VALUES), VALUES) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("window == [4, 0]", True),
        ("window != [4, 0]", False),
        ("window == none", False),
        ("causal_window == [4, -1]", True),
        ("causal_window in [[4, -1], [8, -1]]", True),
        ("causal_window == [4, 0]", False),
        ("window in [[8, 0], [4, 0]]", True),
        ("window not in [[8, 0]]", True),
        ("3 in kv_lengths", True),
        ("softcap in [none, 2]", True),
    ],
)
def test_a_list_is_compared_with_a_list(text: str, expected: bool) -> None:
    assert holds(parse_condition(text, LISTS), LISTS) is expected


@pytest.mark.parametrize("text", ["window == 4", "4 != window", "kv_lengths == '3'", "window in [4, 8]"])
def test_a_list_compared_with_something_else_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"are compared, expected two lists"):
        holds(parse_condition(text, LISTS), LISTS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("dtype == 'float32'", True),
        ("dtype != 'float32'", False),
        ("dtype in ['float32', 'float16']", True),
        ("dtype == 'float16'", False),
    ],
)
def test_a_dtype_may_have_its_long_name(text: str, expected: bool) -> None:
    assert holds(parse_condition(text, VALUES), VALUES) is expected


@given(st.integers(-100, 100), st.integers(-100, 100), st.sampled_from(["<", "<=", ">", ">=", "==", "!="]))
def test_comparisons_agree_with_python(left: int, right: int, comparison: str) -> None:
    expected = {
        "<": left < right,
        "<=": left <= right,
        ">": left > right,
        ">=": left >= right,
        "==": left == right,
        "!=": left != right,
    }[comparison]
    assert holds(parse_condition(f"seq {comparison} {right}", ["seq"]), {"seq": left}) is expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "seq <=",
        "seq = 3",
        "__import__('os').system('true')",
        "seq.__class__",
        "[x for x in (1, 2)]",
        "(lambda: 1)()",
        "seq if causal else 0",
        "dtype[0] == 'f'",
        "2 ** 99999999",
        "f'{seq}' == '512'",
        "seq < 3j",
        "(" * 500,
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected comparisons joined by and, or, not"):
        parse_condition(text, VALUES)


def test_an_unknown_name_is_refused_with_a_suggestion() -> None:
    with pytest.raises(ValueError, match=r"unknown name 'sequ' .*did you mean seq\?"):
        parse_condition("sequ < 3", VALUES)


@pytest.mark.parametrize("text", ["window < 3", "seq // 0 == 1", "dtype - 3 == 'f32'", "seq in 3"])
def test_a_condition_without_an_answer_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="cannot evaluate"):
        holds(parse_condition(text, VALUES), VALUES)
