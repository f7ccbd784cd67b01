"""The instruction sets of the CPU target, and which of them this machine has."""

import functools
from dataclasses import dataclass

from harness.targets.cpu.register_tile import RegisterTile


@dataclass(frozen=True)
class Chip:
    """What code generation needs to know of an instruction set."""

    name: str
    llvm_cpu: str
    llvm_features: str
    registers: RegisterTile
    runs_here: bool


DESCRIPTIONS = {
    "host": "this machine, all that it has",
    "avx2": "x86-64 with AVX2 and FMA (256-bit vectors)",
    "avx512": "x86-64 with AVX-512 F, VL, BW and DQ (512-bit vectors)",
}

AVX2 = ("avx2", "fma", "f16c")
AVX512 = (*AVX2, "avx512f", "avx512vl", "avx512bw", "avx512dq")

LLVM_CPUS = {"avx2": "haswell", "avx512": "skylake-avx512"}


def chip(name: str | None) -> Chip:
    """Return a chip by name; None is the host."""
    features = host_features()
    if name is None or name == "host":
        import llvmlite.binding as llvm

        flags = ",".join(f"{'+' if present else '-'}{feature}" for feature, present in features.items())
        return Chip(
            "host", llvm.get_host_cpu_name(), flags, RegisterTile.of_vector_length(_host_length()), True
        )
    required = AVX512 if name == "avx512" else AVX2
    return Chip(
        name,
        LLVM_CPUS[name],
        "",
        RegisterTile.of_vector_length(16 if name == "avx512" else 8),
        runs_here=all(features.get(feature, False) for feature in required),
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
