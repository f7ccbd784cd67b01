"""What targets answer of a case, checked: what is no answer is one line, which names target and method."""

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from harness import plugins
from harness.plugins import chip_of, name_of
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.targets.base import GridOrder, TileSizes, checked_grid_order
from harness.validation import shown

LEAST_SIZES: Mapping[str, int] = MappingProxyType(
    {"query": 1, "key": 1, "query_multiple": 1, "least_keys": 1, "width_multiple": 1, "workgroup_bytes": 0}
)
"""By field of `TileSizes` that is a number, the least that it can be."""


def device_of(case: Case) -> str:
    """Return the name of the device that a case's code is for here."""
    with plugins.asked("target", name_of(case.target), "which device its code is for (device)"):
        found: object = plugins.target(case.target).device_of(case)
        if not isinstance(found, str) or not found.strip():
            raise TypeError(f"found {shown(found)}, expected the name of a device")
        return found


def sizes_for(case: Case) -> TileSizes:
    """Return the tile sizes that a case's target prefers for it."""
    with plugins.asked("target", name_of(case.target), "which tiles suit a case (tile_sizes)"):
        found: object = plugins.target(case.target).sizes_for(case)
        if not isinstance(found, TileSizes):
            raise TypeError(f"found {shown(found)}, expected TileSizes")
        sizes: dict[str, Any] = {name: _size(name, found) for name in LEAST_SIZES}
        return dataclasses.replace(found, **sizes)


def _size(name: str, sizes: TileSizes) -> int:
    """Return one of the sizes, which may be a number of NumPy's."""
    found, least = getattr(sizes, name), LEAST_SIZES[name]
    if not isinstance(found, int | np.integer) or isinstance(found, bool) or found < least:
        raise TypeError(f"{name}: found {shown(found)}, expected a whole number from {least} on")
    return int(found)


def key_splits(case: Case, workgroups: int, key_tiles: int) -> int:
    """Return in how many parts a target goes over so many tiles of keys, see `Target.key_splits`."""
    with plugins.asked("target", name_of(case.target), "in how many parts it goes over keys (key_splits)"):
        found: object = plugins.target(case.target).key_splits(chip_of(case.target), workgroups, key_tiles)
        if found is None:
            return 1
        if not isinstance(found, int | np.integer) or isinstance(found, bool) or found < 1:
            raise TypeError(f"found {shown(found)}, expected None or a whole number from 1 on")
        return int(found)


def why_unsupported(target: str, problem: AttentionProblem) -> str | None:
    """Return None, or why a target takes no tiled kernels of a problem."""
    with plugins.asked("target", name_of(target), "what it supports (why_unsupported)"):
        found: object = plugins.target(target).why_unsupported(chip_of(target), problem)
        if found is None or (isinstance(found, str) and found.strip()):
            return found
        raise TypeError(f"found {shown(found)}, expected None or a reason in words")


def grid_order(target: str) -> GridOrder | None:
    """Return how a target numbers the points of a grid where a parameter leaves it open."""
    with plugins.asked("target", name_of(target), "how it numbers the points of a grid (grid_order)"):
        return checked_grid_order(plugins.target(target).grid_order)
