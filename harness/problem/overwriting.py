"""Whether arrays that a call reads have room for other inputs."""

import itertools

import numpy as np

from harness.problem.changing_inputs import CHANGING
from harness.problem.inputs import Inputs


def can_be_overwritten(bound: Inputs, new_inputs: Inputs) -> bool:
    """Return whether other inputs can be copied to the arrays of `bound`, and are then as they were given.

    They cannot where two of these arrays share memory, as in `Inputs(x, x, x)`, where one is read only, or
    where one that is given lies in another's place.  Masks, biases, sinks and weights are to be the same
    arrays, as they were bound: a call may hold another form of them.  Q, K, V and tokens that are the same
    arrays need no room.
    """
    own, others = bound.named_as_arguments(), new_inputs.named_as_arguments()
    if any(others.get(name) is not own[name] for name in own if name not in CHANGING):
        return False
    moved = [name for name in own if name in CHANGING and others[name] is not own[name]]
    return (
        all(own[name].flags.writeable for name in moved)
        and not (moved and _share_memory(own))
        and not any(np.may_share_memory(others[name], array) for name in moved for array in own.values())
    )


def _share_memory(arrays: dict[str, np.ndarray]) -> bool:
    """Return whether the memory of two arrays may overlap, by where each begins and ends."""
    return any(
        np.may_share_memory(array, other) for array, other in itertools.combinations(arrays.values(), 2)
    )
