"""What retargeting makes of device code."""

from dataclasses import dataclass

REGION = "emulator_shared_memory_region"
"""The symbol of the shared memory, whose address the retargeted code gets when it is loaded."""


@dataclass(frozen=True)
class Site:
    """A place of the device code that the emulator watches: a finding's number, made readable."""

    operation: str
    """The operation or, for calls, what is called."""
    line: int
    """Line in the device code as the LLVM dialect has it."""


@dataclass(frozen=True)
class SharedArray:
    """An array in shared memory."""

    name: str
    offset: int
    bytes: int


@dataclass(frozen=True)
class KernelDescription:
    """How a kernel is called."""

    name: str
    entry: str
    """The function that reads the arguments through an array of pointers and calls the kernel."""
    argument_bytes: tuple[int, ...]
    block: tuple[int, int, int] | None
    """Threads of a workgroup, where the code requires a number."""
    shared_arrays: tuple[SharedArray, ...]
    dynamic_offset: int | None
    """Where the shared array begins whose size a launch gives."""


@dataclass(frozen=True)
class Retargeted:
    """Device code as LLVM IR for the CPU."""

    llvm_ir: str
    kernels: tuple[KernelDescription, ...]
    sites: tuple[Site, ...]
    constants: dict[str, int]
    """Names of constant tables and their sizes in bytes."""
    symbols: tuple[str, ...]
    """Models that the code calls."""
    intrinsics: dict[str, int]
    """How often each device intrinsic stands in the code."""
