"""Code that finds keys and values in pages, called with packed ones: they are put into a pool before."""

from dataclasses import replace

from harness.artifact.bound_call import BoundCall, Executable
from harness.artifact.wrapped import WrappedExecutable
from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import Inputs
from harness.problem.pages import paging_of


class PagedExecutable(WrappedExecutable):
    """Code for pages of one size."""

    def __init__(self, code: Executable, problem: AttentionProblem, page_size: int) -> None:
        super().__init__(code)
        self.paging = paging_of(problem, page_size)

    def bind(self, inputs: Inputs) -> BoundCall:
        """Put keys and values into pages, and prepare a call."""
        return self.code.bind(replace(inputs, paging=self.paging))
