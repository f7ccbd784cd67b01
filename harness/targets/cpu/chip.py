"""The instruction sets of the CPU target, which of them this machine has, and what fits their registers."""

import functools
from dataclasses import dataclass

MOST_VECTORS = 3
"""Vectors of queries in a block of accumulators: more of them spill."""


@dataclass(frozen=True)
class RegisterTile:
    """Block sizes for one instruction set.

    A contraction keeps `contraction_rows` × (two or three vectors of queries) accumulators in registers:
    at least as many independent multiply-adds as two units of four cycles' latency can have in flight,
    and few enough to leave registers for the factors.
    """

    vector_length: int
    """f32 elements of a vector register."""
    registers: int
    contraction_rows: int

    @classmethod
    def of_vector_length(cls, vector_length: int) -> "RegisterTile":
        """Return the block sizes for vectors of this many f32 elements: AVX-512 has 32 of them, AVX2 16."""
        if vector_length == 16:
            return cls(vector_length, registers=32, contraction_rows=8)
        return cls(vector_length, registers=16, contraction_rows=4)

    @property
    def queries(self) -> int:
        """The queries of a tile, which lie in vector lanes: 4 × 3 or 8 × 2 accumulators (measured)."""
        return (3 if self.registers == 16 else 2) * self.vector_length

    def contraction_lanes(self, lanes: int, rows: int) -> int:
        """Return how many columns a block of accumulators takes, of which it has so many rows."""
        return self._lanes_at_a_time(lanes, MOST_VECTORS if rows > 1 else self.contraction_rows)

    def elementwise_lanes(self, lanes: int) -> int:
        """Return how many columns elementwise operations take at a time."""
        return self._lanes_at_a_time(lanes, self._elementwise_vectors)

    def elementwise_rows(self, lanes: int) -> int:
        """Return how many rows of so many columns elementwise operations take at a time."""
        return max(1, self._elementwise_vectors // -(-lanes // self.vector_length))

    @property
    def _elementwise_vectors(self) -> int:
        """Vectors at a time: the exponential needs some ten registers for constants and temporaries."""
        return self.registers // 4

    def _lanes_at_a_time(self, lanes: int, most_vectors: int) -> int:
        """Return the largest part of the lanes in whole vectors; all lanes where none divides them."""
        if lanes <= most_vectors * self.vector_length:
            return lanes
        parts = [count * self.vector_length for count in range(1, most_vectors + 1)]
        return max((part for part in parts if lanes % part == 0), default=lanes)


@dataclass(frozen=True)
class Chip:
    """What code generation needs to know of an instruction set."""

    name: str
    llvm_cpu: str
    llvm_features: str
    registers: RegisterTile
    runs_here: bool
    features: frozenset[str]
    """What it has, by LLVM's names, as far as it matters here."""
    is_host: bool = False


DESCRIPTIONS = {
    "host": "this machine, all that it has",
    "avx2": "x86-64 with AVX2 and FMA (256-bit vectors)",
    "avx512": "x86-64 with AVX-512 F, VL, BW and DQ (512-bit vectors)",
    "avx512-bf16": "the same and AVX512_BF16, whose vdpbf16ps multiplies bf16",
    "amx": "the same and AMX, which multiplies tiles of bf16",
}

AVX2 = ("avx2", "fma", "f16c")
AVX512 = (*AVX2, "avx512f", "avx512vl", "avx512bw", "avx512dq")

AVX512_BF16 = (*AVX512, "avx512bf16")

FEATURES = {
    "avx2": AVX2,
    "avx512": AVX512,
    "avx512-bf16": AVX512_BF16,
    "amx": (*AVX512_BF16, "amx-tile", "amx-bf16"),
}
LLVM_CPUS = {
    "avx2": "haswell",
    "avx512": "skylake-avx512",
    "avx512-bf16": "cooperlake",
    "amx": "sapphirerapids",
}


def chip(name: str | None) -> Chip:
    """Return a chip by name; None is the host."""
    features = host_features()
    if name is None or name == "host":
        import llvmlite.binding as llvm

        flags = ",".join(f"{'+' if present else '-'}{feature}" for feature, present in features.items())
        return Chip(
            "host",
            llvm.get_host_cpu_name(),
            flags,
            RegisterTile.of_vector_length(_host_length()),
            runs_here=True,
            features=frozenset(feature for feature, present in features.items() if present),
            is_host=True,
        )
    required = FEATURES[name]
    # Code for tiles has not been seen on a processor that has them: a model checks it everywhere.
    is_seen = "amx-tile" not in required
    return Chip(
        name,
        LLVM_CPUS[name],
        "",
        RegisterTile.of_vector_length(16 if set(AVX512) <= set(required) else 8),
        runs_here=is_seen and all(features.get(feature, False) for feature in required),
        features=frozenset(required),
    )


@functools.cache
def host_features() -> dict[str, bool]:
    """Return LLVM's names of the instruction-set features of this machine and whether it has them."""
    import llvmlite.binding as llvm

    return dict(llvm.get_host_cpu_features())


def _host_length() -> int:
    features = host_features()
    lengths = {16: AVX512, 8: AVX2, 4: ()}
    return next(
        length
        for length, required in lengths.items()
        if all(features.get(feature, False) for feature in required)
    )
