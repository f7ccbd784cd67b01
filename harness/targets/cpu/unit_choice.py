"""Which unit of a processor multiplies the numbers of a case."""

import functools

from harness.system.errors import UnsupportedError
from harness.targets.cpu.chip import Chip
from harness.targets.cpu.matrix_units import UNITS, MatrixUnit

FMA = "fma"
"""Multiply-adds of f32, which every chip here has."""

WORTH_IT = 1.5
"""Products while multiply-adds make one, from which on a unit is taken.  AVX512_BF16 has two on some
processors, a half on others."""


def unit_for(target: Chip, dtype: str, asked: str | None) -> MatrixUnit | None:
    """Return what multiplies numbers of a type on a chip: the unit that is asked for, else the fastest.

    None stands for multiply-adds of f32.  On this machine a unit also has to be worth it, as measured.
    Raises `UnsupportedError` for one that the chip does not have for the type.
    """
    if asked == FMA:
        return None
    own = [unit for unit in UNITS if unit.dtype == dtype and target.features.issuperset(unit.features)]
    if asked is None:
        return next((unit for unit in own if not target.is_host or _is_worth_it(unit)), None)
    for unit in own:
        if unit.name == asked:
            return unit
    raise UnsupportedError(f"unit={asked}: {target.name} multiplies no {dtype} by it")


def _is_worth_it(unit: MatrixUnit) -> bool:
    """Whether this machine is faster by a unit: nobody has measured those with tiles, which have to be asked
    for."""
    if unit.has_tiles:
        return False
    return not unit.is_measured or products_per_fma(unit) >= WORTH_IT


@functools.cache
def products_per_fma(unit: MatrixUnit) -> float:
    """Return how many products a unit of this machine makes while multiply-adds of f32 make one, measured."""
    from harness.targets.cpu.peak import relative_peak

    return relative_peak(unit.name)
