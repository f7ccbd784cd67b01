import pytest

from harness.cli.runs import crowded
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case

PROBLEM = AttentionProblem(heads=1, seq_q=4, head_dim=4)


def of_threads(*threads: int) -> list[Case]:
    return [
        Case(problem=PROBLEM, variant="flash", target="cpu", target_options={"threads": count})
        for count in threads
    ]


def test_more_threads_than_cores_are_said_in_a_line() -> None:
    (line,) = crowded(of_threads(1, 64, 4), cores=2)
    assert line == "threads = 64 is more than the cores that this process may use, 2: they take turns"


@pytest.mark.parametrize("threads", [(), (1,), (1, 2)])
def test_no_more_threads_than_cores_need_no_line(threads: tuple[int, ...]) -> None:
    assert crowded(of_threads(*threads), cores=2) == []
