"""The kinds of floating-point operations that are told apart."""

from enum import Enum, auto


class Kind(Enum):
    """Key of an amount of operations; see `harness.costs.costs.Costs` for what each holds."""

    MATMUL = auto()
    EXP = auto()
    OTHER = auto()
    FMA = auto()
    """What of OTHER is fused multiply-adds: counted in both."""
