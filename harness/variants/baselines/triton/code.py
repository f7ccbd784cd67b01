"""A kernel as Triton has compiled it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class TritonCode:
    """A compiled kernel."""

    name: str
    chip: str
    """What it is for, with the suffix of instructions that only this chip has: `sm_90a`."""
    texts: dict[str, str]
    """Of the stages."""
    binary: bytes
    shared_bytes: int
    threads: int
    parameters: int
    """Pointers that the kernel takes: Q, K, V and the output, then scratch memory that it does not use."""
