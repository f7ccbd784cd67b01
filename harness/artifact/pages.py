"""Code that finds keys and values in pages, called with packed ones: they are put into a pool before."""

from contextlib import AbstractContextManager
from dataclasses import replace

from harness.artifact.bound_call import BoundCall, Executable
from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import Inputs
from harness.problem.pages import paging_of


class PagedExecutable(Executable):
    """Code for pages of one size."""

    def __init__(self, of_pages: Executable, problem: AttentionProblem, page_size: int) -> None:
        self.of_pages = of_pages
        self.paging = paging_of(problem, page_size)

    def bind(self, inputs: Inputs) -> BoundCall:
        """Put keys and values into pages, and prepare a call."""
        return self.of_pages.bind(replace(inputs, paging=self.paging))

    def turn(self) -> AbstractContextManager[object]:
        """Return the turn of the code."""
        return self.of_pages.turn()

    def take_process(self) -> None:
        """Set the process up as the code asks for."""
        self.of_pages.take_process()
