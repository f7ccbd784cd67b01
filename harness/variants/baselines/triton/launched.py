"""Runs the Triton kernel where Triton itself compiles and launches it: on a device, by PyTorch's queue."""

from pathlib import Path

import torch

from harness.artifact.artifact import Artifact
from harness.problem.attention_problem import AttentionProblem
from harness.problem.inputs import Inputs
from harness.variants.baselines.torch.calls import TorchCall, TorchExecutable
from harness.variants.baselines.torch.device import OnDevice, open_queue
from harness.variants.baselines.triton.compilation import kernel_constants
from harness.variants.baselines.triton.kernel import flash_attention
from harness.variants.baselines.triton.tiles import TritonTiles
from harness.variants.baselines.triton.vendors import VENDORS


def load(artifact: Artifact, folder: Path) -> OnDevice:
    """Return the executable of `triton` on a device that PyTorch has, too."""
    queue, tiles = open_queue(artifact), TritonTiles(**artifact.launch["tiles"])

    def call(problem: AttentionProblem, inputs: Inputs, device: torch.device) -> LaunchedCall:
        return LaunchedCall(problem, inputs, device, tiles)

    return OnDevice(TorchExecutable(artifact.case.problem, call, queue.device), queue)


class LaunchedCall(TorchCall):
    """A launch by Triton, which compiles at the first one."""

    def __init__(
        self, problem: AttentionProblem, inputs: Inputs, device: torch.device, tiles: TritonTiles
    ) -> None:
        super().__init__(problem, inputs, device)
        self._buffer = self.operands[0].new_full(problem.output_shape, torch.nan)
        self.result = self._buffer
        programs = problem.batch * problem.heads * -(-problem.seq_q // tiles.tile_q)
        self._kernel = flash_attention[(programs,)]
        self._constants = kernel_constants(problem, tiles, VENDORS["xegpu"].precision)
        self._options = {"num_warps": tiles.warps, "num_stages": tiles.pipeline}

    def poison(self) -> None:
        """Fill the output with NaN."""
        self._buffer.fill_(torch.nan)

    def poison_outputs(self) -> None:
        """Fill the output with NaN."""
        self.poison()

    def run(self) -> None:
        """Launch the kernel."""
        self._kernel(*self.operands, self._buffer, **self._constants, **self._options)
