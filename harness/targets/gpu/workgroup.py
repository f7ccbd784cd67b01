"""How a workgroup's warps share the tiles of a problem: how many there are, and what tiles they can share."""

from dataclasses import dataclass
from functools import cached_property

from harness.codegen.layouts.matrix_instruction import MatrixInstruction
from harness.codegen.layouts.warp_tiling import WarpTiling
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.problem.dtypes import itemsize
from harness.system.errors import TileSizeError
from harness.targets.base import TileSizes
from harness.targets.gpu.strategy import GpuOptions, choose
from harness.targets.gpu.tile_choice import WorkgroupTile, bands_of_warp
from harness.targets.gpu.vendor import Vendor


@dataclass(frozen=True)
class Workgroup:
    """What is decided of workgroups for a problem on a vendor's chip: once, for all who ask."""

    vendor: Vendor
    asked: AttentionProblem

    @property
    def instruction(self) -> MatrixInstruction:
        """The matrix instruction for the problem."""
        return self.vendor.matrix_instructions[self.asked.dtype]

    @property
    def unit(self) -> int:
        """What keys and widths are multiples of: each is columns, depth or rows of some product."""
        return max(self.instruction.m, self.instruction.n, self.instruction.k)

    @cached_property
    def problem(self) -> AttentionProblem:
        """The problem with the widths and keys that the kernels compute, padding included.

        Packed sequences are as one, which tiles run over.  It says how large tiles are; which keys a query
        sees is for the problem itself to say.
        """
        return self._wide.model_copy(update={"seq_kv": max(self.asked.seq_kv, self.key_multiple)})

    @cached_property
    def most_warps(self) -> int:
        """How many warps a workgroup may have: as many as shared memory has room for their rows of Q."""
        warps = self.vendor.most_warps
        while warps > 1 and not self._has_room(warps * self.instruction.m, 0):
            warps //= 2
        return warps

    @cached_property
    def warps(self) -> int:
        """How many warps share a tile of queries: fewer, a power of two, where a problem has few."""
        warps = 1
        while warps < self.most_warps and self._wide.seq_q > warps * self.instruction.m:
            warps *= 2
        return warps

    @cached_property
    def tiling(self) -> WarpTiling:
        """The matrix instruction and how many warps execute it."""
        return WarpTiling(self.instruction, self.warps, self.vendor.shared_memory)

    @cached_property
    def key_multiple(self) -> int:
        """What the keys of a tile are a multiple of."""
        if self.vendor.staging is None:
            return self.unit
        size, widths = itemsize(self.asked.dtype), (self._wide.head_dim, self._wide.head_dim_v)
        return max(
            self.unit, *(self.warps * self.tiling.rows_copied_at_once(width, size) for width in widths)
        )

    @cached_property
    def most_keys(self) -> int:
        """How many keys a tile has where there are enough of them and shared memory has room for them."""
        row_bytes = (self._wide.head_dim + self._wide.head_dim_v) * itemsize(self.asked.dtype)
        is_long = self.vendor.long_row_bytes is not None and row_bytes > self.vendor.long_row_bytes
        keys = self.vendor.key_tile // 2 if is_long else self.vendor.key_tile
        while keys // 2 >= self.key_multiple and not self._has_room(0, keys):
            keys //= 2
        return keys

    @cached_property
    def sizes(self) -> TileSizes:
        """Tiles of as many queries as the warps take, and fewer keys where rows of K and V are long.

        A problem of few queries is padded to as many as its warps take; one of few keys has a smaller tile,
        which its warps can share, and is padded to that.  Where there is enough work each warp has more than
        one band of rows (`harness.targets.gpu.tile_choice`).
        """
        vendor, multiple, rows = self.vendor, self.key_multiple, self.instruction.m
        bands = bands_of_warp(vendor, self.problem, self.most_keys, self.most_warps)
        return TileSizes(
            query=rows * self.most_warps * bands,
            key=max(multiple, min(self.most_keys, self.problem.seq_kv // multiple * multiple)),
            query_multiple=rows * self.warps,
            least_keys=multiple,
            width_multiple=self.unit,
            materializes_score_rows=False,
            probability_shift=vendor.probability_shifts.get(self.asked.dtype, 0),
            workgroup_bytes=0 if vendor.staging is None else vendor.workgroup_shared_bytes or 0,
        )

    def strategy(self, case: Case) -> GpuOptions:
        """Return how the kernels of a case of this problem hold and move their tiles."""
        problem, rows = self.problem, self.sizes.query_multiple
        queries, keys, parts = (
            size if isinstance(size, int) else preferred
            for size, preferred in (
                (case.params.get("tile_q"), self.sizes.query),
                (case.params.get("tile_kv"), self.sizes.key),
                (case.params.get("kv_splits"), 1),
            )
        )
        queries, keys = min(queries, -(-problem.seq_q // rows) * rows), min(keys, problem.seq_kv)
        options = options_of(case)
        tile = WorkgroupTile(
            problem,
            self.vendor,
            queries,
            keys,
            self.warps,
            parts,
            sums_in_halves=options.output_sums == "f16",
            is_packed=self.asked.is_packed,
        )
        return choose(tile, options)

    def require_even_tiles(self, case: Case) -> None:
        """Raise `TileSizeError` for tiles, cut to the problem, that warps cannot share."""
        rows, problem = self.most_warps * self.instruction.m, as_one_sequence(self.asked)
        units = {
            "tile_q": (problem.seq_q, rows, "queries, which the warps share"),
            "tile_kv": (problem.seq_kv, self.unit, "keys, as matrix instructions take them"),
        }
        for name, (length, unit, what) in units.items():
            size = case.params.get(name)
            is_padded = name == "tile_q" and isinstance(size, int) and size >= length
            if isinstance(size, int) and not is_padded and min(size, length) % unit:
                cut = f" (cut to {length})" if size > length else ""
                error = TileSizeError(f"{name} {size}{cut}: expected a multiple of {unit} {what}")
                error.parameter = name
                raise error

    def require_room(self, case: Case) -> None:
        """Raise `TileSizeError` for a tile of Q, or of K or V, that alone is too large for shared memory."""
        most = self.vendor.workgroup_shared_bytes
        if self.vendor.staging is None or most is None:
            return
        row_bytes = max(self._wide.head_dim, self._wide.head_dim_v) * itemsize(self.asked.dtype)
        for name, length in (("tile_q", self._wide.seq_q), ("tile_kv", self._wide.seq_kv)):
            size = case.params.get(name)
            needed = min(size, length) * row_bytes if isinstance(size, int) else 0
            if needed > most:
                room = f"a tile of {needed} bytes, expected at most {most} of shared memory"
                raise TileSizeError(f"{name} {size}: {room} on {self.vendor.chip}")

    @cached_property
    def _wide(self) -> AttentionProblem:
        """The problem with padded widths, as one sequence."""
        names = ("head_dim", "head_dim_v")
        widths = {name: -(-getattr(self.asked, name) // self.unit) * self.unit for name in names}
        return as_one_sequence(self.asked).model_copy(update=widths)

    def _has_room(self, queries: int, keys: int) -> bool:
        """Return whether shared memory holds so many rows of Q, and after them a tile of K and V."""
        most = self.vendor.workgroup_shared_bytes
        tile = WorkgroupTile(self._wide, self.vendor, queries, keys, self.vendor.most_warps)
        return most is None or tile.shared_bytes(1, keeps_query=False) <= most


def as_one_sequence(problem: AttentionProblem) -> AttentionProblem:
    """Return a problem with as many queries and keys as lie one after the other."""
    if not problem.is_packed:
        return problem
    tokens, keys = problem.q_shape[0], problem.k_shape[0]
    lengths = {"cu_seqlens_q": None, "cu_seqlens_kv": None, "batch": 1}
    return problem.model_copy(update={**lengths, "seq_q": tokens, "seq_kv": keys})


def options_of(case: Case) -> GpuOptions:
    """Return what the options of the case's target are that every GPU has."""
    general = {name: value for name, value in case.target_options.items() if name in GpuOptions.model_fields}
    return GpuOptions.model_validate(general)


def why_unsupported(vendor: Vendor, problem: AttentionProblem) -> str | None:
    """Return None, or what of a problem does not fit warps and matrix instructions."""
    if problem.dtype not in vendor.matrix_instructions:
        dtypes = ", ".join(vendor.matrix_instructions)
        return f"dtype {problem.dtype}: matrix instructions of {vendor.chip} take {dtypes}"
    return None
