"""What one call of a kernel executes: floating-point operations by kind, bytes by level of memory."""

from collections.abc import Iterable, Mapping

from pydantic import Field

from harness.system.errors import HarnessError
from harness.system.validation import FrozenModel


class NotCountable(HarnessError):  # noqa: N818 - the name says what is the matter, as StopIteration does
    """The IR does not say what a call executes; the message names the operation and the reason."""


class Traffic(FrozenModel):
    """Bytes read from and written to one buffer or level of memory."""

    read: int = 0
    written: int = 0

    @property
    def total(self) -> int:
        """Bytes read and written."""
        return self.read + self.written

    def __add__(self, other: "Traffic") -> "Traffic":
        return Traffic(read=self.read + other.read, written=self.written + other.written)


class Costs(FrozenModel):
    """What is executed; see docs/costs.md for what each operation of the IR counts as."""

    matmul: int = 0
    """Operations of contractions, 2 for each multiply-add: `linalg.generic` with such a body, named matrix
    products, `vector.contract`, `vector.outerproduct` with an accumulator."""
    exp: int = 0
    """Exponentials evaluated (`math.exp`, `math.exp2`)."""
    other: int = 0
    """All other floating-point arithmetic, 1 for each element of a result and 2 for a fused multiply-add.

    Comparisons, selections, conversions and integer arithmetic are not counted."""
    fma: int = 0
    """The part of `other` that is in `math.fma` and `vector.fma`.  What a contraction was lowered to is among
    it, because such an operation does not tell where it comes from."""
    arguments: dict[str, Traffic] = Field(default={})
    """Main memory that the caller passes, by buffer name; a tensor that is returned is `result`."""
    workspace: dict[str, Traffic] = Field(default={})
    """Main memory between kernels, by buffer name."""
    scratch: Traffic = Traffic()
    """Temporaries: allocations, tensors without storage of their own, memory that a thread brings along."""
    undetermined: Traffic = Traffic()
    """Memory that is one buffer or another, depending on the path taken."""

    @property
    def operations(self) -> int:
        """All floating-point operations, an exponential being one."""
        return self.matmul + self.exp + self.other

    @property
    def main_memory(self) -> Traffic:
        """Traffic of arguments and workspace."""
        return sum((*self.arguments.values(), *self.workspace.values()), Traffic())

    @property
    def intensity(self) -> float | None:
        """Floating-point operations per byte of main memory, or None without such traffic."""
        total = self.main_memory.total
        return self.operations / total if total else None

    def __add__(self, other: "Costs") -> "Costs":
        return Costs(
            matmul=self.matmul + other.matmul,
            exp=self.exp + other.exp,
            other=self.other + other.other,
            fma=self.fma + other.fma,
            arguments=_merged(self.arguments, other.arguments),
            workspace=_merged(self.workspace, other.workspace),
            scratch=self.scratch + other.scratch,
            undetermined=self.undetermined + other.undetermined,
        )


class KernelCosts(FrozenModel):
    """The costs of one kernel, all of its grid together."""

    kernel: str
    costs: Costs


def total(kernels: Iterable[KernelCosts]) -> Costs:
    """Return the costs of several kernels together."""
    return sum((kernel.costs for kernel in kernels), Costs())


def _merged(first: Mapping[str, Traffic], second: Mapping[str, Traffic]) -> dict[str, Traffic]:
    names = dict.fromkeys((*first, *second))
    return {name: first.get(name, Traffic()) + second.get(name, Traffic()) for name in names}
