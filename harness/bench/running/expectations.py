"""What the oracle expects of the problems at hand, computed once for all cases of a problem."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from harness.bench.workers.process import WorkerFailure, WorkerProcess
from harness.bench.workers.protocol import Life, Request
from harness.oracle.expected import expect
from harness.problem.attention_problem import AttentionProblem
from harness.problem.changing_inputs import (
    TURNABLE,
    TURNED,
    ChangingInputs,
    change_operands,
    turns_of_operands,
)
from harness.problem.inputs import make_inputs
from harness.system.digest import digest

EXPECT_TIMEOUT_S = 3600.0
"""The oracle is slow and sure: float64, blockwise."""


def save_expectation(
    life: Life,
    problem: AttentionProblem,
    distribution: str,
    seed: int,
    file: Path,
    *,
    number: int = 0,
    operands: int = 0,
) -> None:
    """Let the oracle compute a problem and save what it expects to a file.

    `number` says which inputs, see `harness.problem.changing_inputs`, and `operands` likewise which mask,
    bias, sinks and weights; 0 are those drawn with the others.
    """
    inputs = make_inputs(problem, distribution, seed)
    ChangingInputs(inputs).become(number)
    if operands:
        change_operands(inputs, problem, seed, operands)
    expect(inputs.as_expected(problem), problem).save(file)


@dataclass(frozen=True)
class ExpectationFiles:
    """Files of what the oracle expects in one check."""

    files: Mapping[str, Path]
    """Of each input distribution."""
    others: Path | None = None
    """Of the first one, with other scores, if there is one."""
    other_operands: Mapping[int, Path] = field(default_factory=dict)
    """Of the first one, with other masks, biases, sinks and weights, by their number, if it has them."""

    @property
    def first(self) -> str:
        """The first distribution."""
        return next(iter(self.files))


class Expectations:
    """Files with the oracle's expectations; they stay until they are deleted.

    The oracle's worker stays as well, for the next problem, until it fails or `close`.  It shares work out
    among all cores itself, so its BLAS has one thread: on a busy machine several of them wait for each other
    most of the time.
    """

    def __init__(self, folder: Path, seed: int, sources: Sequence[Path] = ()) -> None:
        """Keep the files in `folder`, emptied first: an interrupted run may have left some."""
        self._folder = folder
        self._seed = seed
        self._sources = sources
        self._worker: WorkerProcess | None = None
        self.delete()

    def of_check(
        self, problem: AttentionProblem, distributions: Sequence[str], *, with_others: bool
    ) -> ExpectationFiles:
        """Return the files of each input distribution, and `with_others` of other inputs of the first one."""
        files = {distribution: self.file(problem, distribution) for distribution in distributions}
        first = distributions[0]
        if not with_others or first not in TURNABLE:
            return ExpectationFiles(files)
        operands = {turn: self.file(problem, first, operands=turn) for turn in turns_of_operands(problem)}
        return ExpectationFiles(files, self.file(problem, first, number=TURNED), operands)

    def file(
        self, problem: AttentionProblem, distribution: str, *, number: int = 0, operands: int = 0
    ) -> Path:
        """Return the file of some inputs, see `save_expectation`; raises `WorkerFailure` without."""
        name = digest(problem.model_dump(mode="json"))[:12]
        file = self._folder / f"{name}-{distribution}-{number}-{operands}.npy"
        if not file.exists():
            self._folder.mkdir(exist_ok=True)
            request = partial(save_expectation, problem=problem, distribution=distribution, seed=self._seed)
            self._expect(partial(request, file=file, number=number, operands=operands), file)
        return file

    def _expect(self, request: Request[None], file: Path) -> None:
        if self._worker is None or not self._worker.alive:
            self._end_worker()
            self._worker = WorkerProcess(threads=1, sources=self._sources)
        try:
            self._worker.request(request, EXPECT_TIMEOUT_S)
        except WorkerFailure:
            self._end_worker()
            file.unlink(missing_ok=True)  # it may hold a part
            raise

    def delete(self) -> None:
        """Delete all files."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def close(self) -> None:
        """End the oracle's worker and delete all files."""
        self._end_worker()
        self.delete()

    def _end_worker(self) -> None:
        if self._worker is not None:
            self._worker.close()
            self._worker = None
