"""What `harness.build` makes of its arguments."""

import pytest
from example_cases import PROBLEM

import harness
from harness.api import BuiltArtifact
from harness.errors import InputError

pytestmark = pytest.mark.usefixtures("example_plugin")


def build(**settings: int) -> BuiltArtifact:
    return harness.build(PROBLEM, variant="numpy-attention", target="numpy", **settings)


def test_a_default_that_is_written_down_is_the_same_case() -> None:
    assert build().case == build(threads=1).case
    assert build().case.target_options == {"threads": 1}
    assert build(threads=2).case.id != build().case.id


def test_an_option_that_is_almost_right_is_suggested() -> None:
    expected = r"target 'numpy': thread: unknown key \(did you mean threads\?\); allowed: threads"
    with pytest.raises(InputError, match=expected):
        build(thread=2)
