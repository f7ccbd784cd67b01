"""Settings that nobody gave: the concrete defaults of variants and targets, as part of a case.

A case says what it means: `threads` left out and `threads = 1` are one case where 1 is the default.  A
default of None means "chosen when it is built" and stays out of the case.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from harness import plugins
from harness.errors import HarnessError
from harness.machine.cores import available_cores
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case, ParameterValue

Settings = dict[str, ParameterValue]
"""Values of a variant's parameters, or of a target's options, by name."""

ALL_CORES = "all"


def settings_model(kind: str, name: str) -> type[BaseModel]:
    """Return the model of a variant's parameters or a target's options.

    Raises `HarnessError` for a plugin that is unknown or cannot be imported.
    """
    plugin = plugins.load(kind, name)
    return plugin.parameters if kind == "variant" else plugin.options


def concrete(values: Mapping[str, Any]) -> Settings:
    """Return the values that a case can hold; `threads = "all"` as the number of cores here."""
    kept = {name: value for name, value in values.items() if isinstance(value, ParameterValue)}
    if kept.get("threads") == ALL_CORES:
        kept["threads"] = available_cores()
    return kept


def complete_case(
    problem: AttentionProblem, variant: str, target: str, params: Settings, target_options: Settings
) -> Case:
    """Return the case of these settings and, for what is not set, the defaults; nothing is checked."""
    return Case(
        problem=problem,
        variant=variant,
        target=target,
        params=_completed("variant", variant, params),
        target_options=_completed("target", target.partition(":")[0], target_options),
    )


def _completed(kind: str, name: str, given: Settings) -> Settings:
    try:
        model = settings_model(kind, name)
    except HarnessError:
        return given  # whoever builds the case says what is wrong with the plugin
    defaults = {
        key: field.get_default(call_default_factory=True)
        for key, field in model.model_fields.items()
        if not field.is_required()
    }
    return concrete({**defaults, **given})
