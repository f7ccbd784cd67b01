"""What becomes of a copy of a process that other code forks off."""

import os
import sys

import pytest

from harness.processes.copies import no_copy_returns


class TooFarError(Exception):
    """What the code of a copy raises."""


def returns() -> None:
    """Come back."""


def fails() -> None:
    raise TooFarError


def exits_with_3() -> None:
    sys.exit(3)


def exits_with_words() -> None:
    sys.exit("no room")


@pytest.mark.parametrize(
    ("code", "status"), [(returns, 1), (fails, 1), (sys.exit, 0), (exits_with_3, 3), (exits_with_words, 1)]
)
def test_a_copy_ends_where_it_would_come_back(code, status) -> None:
    own, child = os.getpid(), 0
    try:
        with no_copy_returns():
            child = os.fork()
            if child == 0:
                code()
    finally:
        if os.getpid() != own:
            os._exit(99)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == status


def test_what_the_process_itself_raises_comes_out() -> None:
    with pytest.raises(TooFarError), no_copy_returns():
        raise TooFarError
    with pytest.raises(SystemExit), no_copy_returns():
        sys.exit(3)
