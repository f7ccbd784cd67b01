"""How the kernels of an artifact are called: kept in `artifact.json`, read by the executable."""

from pydantic import BaseModel, ConfigDict

from harness.targets.lowering.buffers import Buffer, KernelPlan

OBJECT_FILE = "kernels.o"
"""Machine code in the artifact's folder."""


class Kernel(BaseModel):
    """A kernel function: `name(buffers …, first, end, scratch)` with bare pointers."""

    model_config = ConfigDict(frozen=True)

    name: str
    buffers: tuple[Buffer, ...]
    points: int
    """Size of the grid."""
    scratch_bytes: int
    """Scratch memory of each thread."""

    def runs(self, rows: int) -> list[range]:
        """Return the points of the grid that there are for a caller's arrays of so many rows.

        Of packed sequences the last axis of the grid is that of tiles of queries.
        """
        query = next((buffer for buffer in self.buffers if buffer.name == "query"), None)
        if query is None or query.least_rows is None:
            return [range(self.points)]
        tiles, most = (-(-count // query.least_rows) for count in (rows, query.shape[0]))
        if tiles == most:
            return [range(self.points)]
        return [range(first, first + tiles) for first in range(0, self.points, most)]


class Launch(KernelPlan):
    """The kernels, and the threads that share the grid of each."""

    kernels: tuple[Kernel, ...]
    threads: int
    asks_for_tiles: bool = False
    """Whether a process has to ask for AMX's tiles before."""

    @property
    def workspace_bytes(self) -> int:
        """Memory that a call needs besides inputs and output, scratch memory included."""
        return super().workspace_bytes + self.threads * max(kernel.scratch_bytes for kernel in self.kernels)
