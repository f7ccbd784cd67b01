"""In how many parts the keys are gone over, where workgroups of whole rows of scores leave a GPU idle.

The rule is that of FlashAttention-2 (`num_splits_heuristic` in `csrc/flash_attn/flash_api.cpp`): the fewest
parts with which the last wave of workgroups is about as full as it can be.
"""

WORKGROUPS_AT_A_TIME = 2
"""Workgroups that a multiprocessor is busy with."""

ENOUGH = 0.8
"""Share of all workgroups at a time from which on splitting gains less than merging costs."""

NEARLY_BEST = 0.85
"""Share of the best filling that will do."""

LEAST_TILES = 4
"""Key tiles of a part.  One of fewer takes no longer than the kernel that merges the parts."""


def key_splits(multiprocessors: int, workgroups: int, key_tiles: int) -> int:
    """Return the number of parts for a grid of so many workgroups, each of which goes over the key tiles."""
    at_a_time = WORKGROUPS_AT_A_TIME * multiprocessors
    most = min(key_tiles // LEAST_TILES, multiprocessors)
    if most <= 1 or workgroups >= ENOUGH * at_a_time:
        return 1
    filling = {
        parts: _filling(workgroups * parts, at_a_time)
        for parts in range(1, most + 1)
        if parts == 1 or _longest(key_tiles, parts) < _longest(key_tiles, parts - 1)
    }
    enough = NEARLY_BEST * max(filling.values())
    return next(parts for parts, share in filling.items() if share >= enough)


def _filling(workgroups: int, at_a_time: int) -> float:
    waves = -(-workgroups // at_a_time)
    return workgroups / (waves * at_a_time)


def _longest(key_tiles: int, parts: int) -> int:
    return -(-key_tiles // parts)
