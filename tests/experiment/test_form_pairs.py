"""The shipped experiments have every two forms together that a variant supports together."""

import pytest
from form_pairs import CHIPS, FORMS, ON_GPUS, covered, forms_of, shipped_cases, uncovered

from harness.problem.case import Case


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return shipped_cases()


def told(cases: list[Case]) -> list[str]:
    """Return what no case has, as text."""
    return [
        f"{variant} on {kind}: {' + '.join(pair)}"
        for (variant, kind), pairs in uncovered(cases).items()
        for pair in pairs
    ]


@pytest.mark.sweep
def test_every_two_forms_that_a_variant_supports_are_together_in_a_case(cases: list[Case]) -> None:
    missing = told(cases)
    assert not missing, "no shipped case has these forms together:\n" + "\n".join(missing)


def test_every_kind_of_machine_and_every_own_variant_has_cases(cases: list[Case]) -> None:
    asked = covered(cases).keys()
    on_cpu = {"unfused", "naive", "upstream-fuse", "flash", "split-head", "varlen"}
    assert asked >= {(variant, "cpu") for variant in on_cpu}
    assert asked >= {(variant, kind) for variant in ON_GPUS for kind in CHIPS}


def test_every_form_is_had_by_a_case(cases: list[Case]) -> None:
    had = {name for pairs in covered(cases).values() for pair in pairs for name in pair}
    assert had == {form.name for form in FORMS}


def test_a_pair_that_loses_its_cases_is_named(cases: list[Case]) -> None:
    pair = {"packed keys", "sinks"}
    fewer = [case for case in cases if not pair <= forms_of(case)]
    assert len(fewer) < len(cases)
    assert "varlen on cpu: sinks + packed keys" in told(
        [case for case in fewer if case.variant == "varlen" and case.target == CHIPS["cpu"]]
    )
