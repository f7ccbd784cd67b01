"""What the oracle expects of the problems at hand, computed once for all cases of a problem."""

import shutil
from pathlib import Path
from typing import Annotated

from pydantic import Field

from harness.digest import digest
from harness.oracle.expected import expect
from harness.problem.attention_problem import AttentionProblem
from harness.problem.changing_inputs import (
    TURNABLE,
    TURNED,
    change_operands,
    inputs_as_expected,
    turns_of_operands,
)
from harness.problem.inputs import make_inputs
from harness.storage.replacing import own_folder
from harness.workers.process import WorkerFailure, WorkerProcess
from harness.workers.protocol import AbsolutePath, Done, Life, Request

EXPECT_TIMEOUT_S = 3600.0
"""The oracle is slow and sure: float64, blockwise."""


class ExpectRequest(Request[Done]):
    """Let the oracle compute a problem and save what it expects to a file."""

    problem: AttentionProblem
    distribution: str
    seed: int
    number: Annotated[int, Field(ge=0)] = 0
    """Which inputs, see `harness.problem.changing_inputs`."""
    operands: Annotated[int, Field(ge=0)] = 0
    """Which mask, bias, sinks and weights, likewise; 0 are those drawn with the others."""
    file: AbsolutePath

    def answer(self, life: Life) -> Done:
        """Compute what is expected."""
        inputs = make_inputs(self.problem, self.distribution, self.seed)
        if self.operands:
            change_operands(inputs, self.problem, self.seed, self.operands)
            inputs = inputs.as_expected(self.problem)
        inputs = inputs_as_expected(inputs, self.problem, self.number)
        expect(inputs, self.problem).save(self.file)
        return Done()


class Expectations:
    """Files with the oracle's expectations; they stay until they are deleted.

    The oracle's worker stays as well, for the next problem, until it fails or `close`.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        """Keep the files in `folder`, emptied first: an interrupted run may have left some."""
        self._folder = folder
        self._seed = seed
        self._worker: WorkerProcess | None = None
        self.delete()

    def files(self, problem: AttentionProblem, distributions: tuple[str, ...]) -> dict[str, Path]:
        """Return the file of each input distribution; raises `WorkerFailure` if the oracle fails.

        The oracle runs in a worker of its own and shares work out among all cores itself.  So its BLAS has
        one thread: on a busy machine several of them wait for each other most of the time.
        """
        files = {distribution: self._file(problem, distribution) for distribution in distributions}
        missing = [distribution for distribution, file in files.items() if not file.exists()]
        if missing:
            own_folder(self._folder)
        for distribution in missing:
            self._expect(problem, distribution, files[distribution])
        return files

    def file_of_others(self, problem: AttentionProblem, distribution: str) -> Path | None:
        """Return the file of inputs with other scores, None where a distribution has none.

        Raises as `files` does.
        """
        if distribution not in TURNABLE:
            return None
        file = self._file(problem, distribution, f"-{TURNED}")
        if not file.exists():
            own_folder(self._folder)
            self._expect(problem, distribution, file, number=TURNED)
        return file

    def files_of_other_operands(self, problem: AttentionProblem, distribution: str) -> dict[int, Path]:
        """Return the files of inputs with other masks, biases, sinks and weights, by the turn of these.

        Empty where a problem has none of them, or as for other scores.  Raises as `files` does.
        """
        if distribution not in TURNABLE:
            return {}
        turns = turns_of_operands(problem)
        files = {turn: self._file(problem, distribution, f"-operands-{turn}") for turn in turns}
        for turn, file in files.items():
            if not file.exists():
                own_folder(self._folder)
                self._expect(problem, distribution, file, operands=turn)
        return files

    def _file(self, problem: AttentionProblem, distribution: str, which: str = "") -> Path:
        name = digest(problem.model_dump(mode="json"))[:12]
        return self._folder / f"{name}-{distribution}{which}.npy"

    def _expect(
        self,
        problem: AttentionProblem,
        distribution: str,
        file: Path,
        number: int = 0,
        operands: int = 0,
    ) -> None:
        if self._worker is None or not self._worker.alive:
            self._end_worker()
            self._worker = WorkerProcess(threads=1)
        request = ExpectRequest(
            problem=problem,
            distribution=distribution,
            seed=self._seed,
            number=number,
            operands=operands,
            file=file,
        )
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
