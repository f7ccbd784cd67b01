"""What the oracle expects of the problems at hand, computed once for all cases of a problem."""

import shutil
from pathlib import Path

from harness.digest import digest
from harness.problem.attention_problem import AttentionProblem
from harness.storage.replacing import own_folder
from harness.workers.process import WorkerProcess
from harness.workers.protocol import Done, ExpectRequest

EXPECT_TIMEOUT_S = 3600.0
"""The oracle is slow and sure: float64, blockwise."""


class Expectations:
    """Files with the oracle's expectations; they stay until they are deleted."""

    def __init__(self, folder: Path, seed: int) -> None:
        """Keep the files in `folder`, emptied first: an interrupted run may have left some."""
        self._folder = folder
        self._seed = seed
        self.close()

    def files(self, problem: AttentionProblem, distributions: tuple[str, ...]) -> dict[str, Path]:
        """Return the file of each input distribution; raises `WorkerFailure` if the oracle fails.

        The oracle runs in a worker of its own with all cores.
        """
        name = digest(problem.model_dump(mode="json"))[:12]
        files = {distribution: self._folder / f"{name}-{distribution}.npy" for distribution in distributions}
        missing = [distribution for distribution, file in files.items() if not file.exists()]
        if missing:
            own_folder(self._folder)
            with WorkerProcess() as worker:
                for distribution in missing:
                    request = ExpectRequest(
                        problem=problem, distribution=distribution, seed=self._seed, file=files[distribution]
                    )
                    worker.request(request, EXPECT_TIMEOUT_S, Done)
        return files

    def close(self) -> None:
        """Delete all files."""
        shutil.rmtree(self._folder, ignore_errors=True)
