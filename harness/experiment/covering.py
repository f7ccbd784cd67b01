"""Few cases of many that have, for each variant and target, all that any of them has: the key `covering`."""

from collections.abc import Sequence

from harness import plugins
from harness.problem.case import Case, ParameterValue
from harness.problem.forms import forms_of

FLOPS_OF_A_BUILD = 5e6
"""What an emulator executes in about the time that a small build takes."""


def covering_cases(cases: Sequence[Case]) -> list[Case]:
    """Return few of the cases, in their order, that show for each variant and target all that the cases show.

    That is every form (`harness.problem.forms`), dtype, parameter and target option; small problems go first.
    What a variant does not support shows nothing.  Where it supports no case for a target, one says why.
    """
    alike: dict[tuple[str, str], list[Case]] = {}
    for case in cases:
        alike.setdefault((case.variant, case.target), []).append(case)
    chosen = {case.id for group in alike.values() for case in _covering(group)}
    return [case for case in cases if case.id in chosen]


def features(case: Case) -> frozenset[str]:
    """Return what a case shows: its forms, its dtype, its parameters and target options."""
    settings = (_setting(name, value) for name, value in case.settings.items())
    return frozenset((*forms_of(case.problem), case.problem.dtype, *filter(None, settings)))


def _setting(name: str, value: ParameterValue) -> str | None:
    """Return what matters of a setting: numbers are alike; a whole in one part is nothing special."""
    if isinstance(value, bool | str):
        return f"{name}={value}"
    return None if value == 1 else name


def _covering(cases: Sequence[Case]) -> list[Case]:
    """Return few of the cases of one variant and target: the next is what adds most for its work."""
    supported = [case for case in cases if plugins.supports(case.variant, case.problem, case.target)]
    shown = [features(case) for case in supported]
    work = [1 + case.problem.flops() / FLOPS_OF_A_BUILD for case in supported]
    missing = set[str]().union(*shown)
    chosen: list[int] = []
    while missing:
        chosen.append(max(range(len(shown)), key=lambda index: len(shown[index] & missing) / work[index]))
        missing -= shown[chosen[-1]]
    for index in reversed(chosen):
        if shown[index] <= frozenset().union(*(shown[other] for other in chosen if other != index)):
            chosen.remove(index)
    return [supported[index] for index in chosen] or list(cases[:1])
