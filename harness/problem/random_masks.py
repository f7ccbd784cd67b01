"""Random boolean masks, which hide and show single pairs and whole runs of keys."""

from collections.abc import Sequence

import numpy as np

from harness.problem.attention_problem import AttentionProblem
from harness.problem.mask_patterns import (
    OF_KEYS,
    OF_KEYS_OF_SEVERAL,
    OF_QUERIES,
    OF_QUERIES_ALONE,
    Form,
    lay_patterns,
)

MASK_DENSITY = 0.7
"""Share of the pairs that a random boolean mask leaves visible."""

LEAST_TURNS = 3
"""So many masks has a check at least: so neighbours differ in tiles of each size once."""


def random_mask(problem: AttentionProblem, generator: np.random.Generator, turn: int = 0) -> np.ndarray:
    """Hide pairs at random, and lay patterns over them, see `harness.problem.mask_patterns`.

    Batch entries and heads have different patterns, as masks of successive turns have.  Where queries differ
    and there are several, the last one sees no key in the first turn.
    """
    mask = generator.random(problem.mask_shape, dtype=np.float32) < MASK_DENSITY
    queries, keys = mask.shape[-2:]
    if max(queries, keys) > 1:
        lay_forms_over(problem, mask, _forms_of(problem), turn)
    if queries > 1 and turn == 0:
        mask[..., -1, :] = False
    return mask


def turns_of_all_patterns(problem: AttentionProblem) -> int:
    """Return after how many turns masks of a problem have had all patterns, `LEAST_TURNS` at least.

    Where the first turn has patterns that hide and show whole tiles, these come again: there the last query
    sees no key, so a tile that has all queries is never visible whole.
    """
    entries, heads = problem.mask_shape[:2]
    masks, forms = entries * heads, len(_forms_of(problem))
    return max(LEAST_TURNS, -(-forms // masks) + (masks > 1))


def _forms_of(problem: AttentionProblem) -> Sequence[Form]:
    entries, heads, queries, keys = problem.mask_shape
    if queries == 1:
        return OF_KEYS if entries * heads == 1 else OF_KEYS_OF_SEVERAL
    return OF_QUERIES if keys > 1 else OF_QUERIES_ALONE


def lay_forms_over(
    problem: AttentionProblem, visible: np.ndarray, forms: Sequence[Form], turn: int = 0
) -> None:
    """Lay patterns over what has a problem's shape of a mask or bias, in place, different ones by entry."""
    entries, heads, queries, _ = visible.shape
    step = _step_of_entries(heads, len(forms))
    step_of_turns = entries * heads if entries * heads < len(forms) else 1
    lengths = problem.sequence_lengths() if entries > 1 else [(problem.seq_q, problem.seq_kv)]
    for number, (entry, (seq_q, seq_kv)) in enumerate(zip(visible, lengths, strict=True)):
        if queries > 1 or problem.seq_q == 1:
            first, end = problem.visible_range(np.arange(seq_q, dtype=np.int64), seq_q, seq_kv)
        else:
            first, end = np.array([0]), np.array([seq_kv])
        for head, pairs in enumerate(entry):
            place = step * number + head + head // len(forms) + step_of_turns * turn
            lay_patterns(pairs, first, end, forms[place % len(forms)])


def _step_of_entries(heads: int, forms: int) -> int:
    """Return by how many forms one batch entry is from the next.

    So that an entry has neither its neighbour's nor those of its neighbour's next head, and few entries and
    heads have all forms.
    """
    if heads == 1:
        return forms - 1
    return next(step for step in range(heads, heads + 3) if step % forms not in (0, 1))
