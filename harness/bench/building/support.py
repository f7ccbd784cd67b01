"""Which form of attention a variant has for a target, asked of the code that decides it for a case."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from harness import plugins
from harness.bench.building.case_build import require_supported
from harness.experiment.case_settings import settings_model
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.problem.forms import FORMS, Form
from harness.system.errors import (
    HarnessError,
    InputError,
    PluginError,
    UnsupportedError,
    cut,
    message_of,
)
from harness.system.validation import messages

WHAT = "what it supports (supports)"
"""What a variant is asked for here, as messages say it."""
THIS_MACHINE = "host"
"""The chip whose name means another one on each machine: what it supports is told by that one's name."""


@dataclass(frozen=True)
class Support:
    """Whether a variant has a form for a target."""

    form: str
    variant: str
    target: str
    reason: str | None
    """Why not, or None where it has."""
    is_contradiction: bool = False
    """Whether no problem of this form is for the variant at all."""
    is_faulty: bool = False
    """Whether the plugin cannot say it: the reason is what is wrong with its code."""


def matrix(
    variants: Sequence[str], targets: Sequence[str], *, are_asked_for: bool = True
) -> Iterator[Support]:
    """Yield an answer for each target, form and variant, in this order."""
    for target in targets:
        plugins.target(target)
        for form in FORMS:
            for variant in variants:
                try:
                    yield _support(form, variant, target)
                except InputError:
                    raise
                except HarnessError as error:
                    if are_asked_for:
                        raise
                    yield Support(form.name, variant, target, cut(message_of(error)), is_faulty=True)


def _support(form: Form, variant: str, target: str) -> Support:
    with plugins.asked("variant", variant, WHAT):
        try:
            problem = form.problem(plugins.variant(variant).needed)
        except ValidationError as error:
            reason = messages(error)[0]
            return Support(form.name, variant, target, reason, is_contradiction=True)
        return Support(form.name, variant, target, why_unsupported(problem, variant, target))


def why_unsupported(problem: AttentionProblem, variant: str, target: str) -> str | None:
    """Return None, or why a problem cannot be built with default parameters."""
    plugins.check_target(target)
    case = Case(problem=problem, variant=variant, target=target)
    try:
        with plugins.asked("variant", variant, WHAT):
            require_supported(case)
        with plugins.asked("variant", variant, "what it chooses (chosen)"):
            plugins.variant(variant).chosen(case)
    except UnsupportedError as error:
        return cut(message_of(error))
    return None


def own_variants() -> list[str]:
    """Return the variants whose code this harness generates, which does not depend on what is installed."""
    return [name for name in _usable("variant") if not getattr(plugins.variant(name), "is_baseline", False)]


def own_targets() -> list[str]:
    """Return the targets, each without a chip: that of the device here, else its usual one."""
    return list(_usable("target"))


def all_chips() -> list[str]:
    """Return each chip of each target, by its full name."""
    return [f"{name}:{chip}" for name in _usable("target") for chip in _chips(name) if chip != THIS_MACHINE]


def _chips(target: str) -> Iterable[str]:
    """Return a target's chips, none where it cannot say them; `harness list` says why."""
    try:
        return plugins.chips(target)
    except PluginError:
        return ()


def _usable(kind: str) -> Iterator[str]:
    """Yield the plugins that can be loaded and are of their kind; `harness list` says why others are not."""
    for name in plugins.suggested(kind):
        try:
            settings_model(kind, name)
        except HarnessError:
            continue
        yield name


def alternatives(case: Case) -> list[str]:
    """Return the other variants that can build a case's problem with the options of its target.

    Where none can, those that can without these options, which is then said.
    """
    without = case.model_copy(update={"target_options": {}})
    for changed, suffix in ((case, ""), (without, f" without {_options(case)}")):
        names = plugins.suggested("variant")
        able = [name for name in names if _can(changed, name) and (suffix or name != case.variant)]
        if able or not case.target_options:
            return [f"{name}{suffix}" for name in able]
    return []


def _can(case: Case, variant: str) -> bool:
    """Return whether a variant with parameters of its own says that it can build a case."""
    other = case.model_copy(update={"variant": variant, "params": {}})
    try:
        with plugins.asked("variant", variant, WHAT):
            require_supported(other)
            plugins.variant(variant).chosen(other)
            plugins.variant(variant).stages_of(other)
    except HarnessError:
        return False
    return True


def _options(case: Case) -> str:
    return " ".join(f"{name}={value}" for name, value in case.target_options.items())
