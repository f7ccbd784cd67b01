"""A case: one problem, built by one variant with one set of parameters, for one target."""

from typing import Any

from pydantic import Field

from harness.problem.attention_problem import LISTS_OF_LENGTHS, SIZES, AttentionProblem
from harness.system.digest import digest
from harness.system.validation import FrozenModel

ParameterValue = int | float | bool | str

FIRST_FIELDS = frozenset(
    (*SIZES, "dtype", "causal", "causal_alignment", "mask", "bias", "window", "softcap", "scale")
) | {*LISTS_OF_LENGTHS, "model_width"}
"""Fields of a problem that ids always hold; later ones are left out at their defaults, so that ids stay."""

OF_THE_TARGET = "target."
"""Begins the name of a target's option where a variant has a parameter of that name."""


class Case(FrozenModel):
    """The unit of a sweep; equal cases have equal ids in every run and on every machine."""

    problem: AttentionProblem
    variant: str
    target: str
    """Target name, with a chip where it matters: `cpu`, `cpu:avx2`, `cuda:sm_80`."""
    params: dict[str, ParameterValue] = Field(default={})
    """The variant's tunable parameters: those that were set, and the defaults that are concrete."""
    target_options: dict[str, ParameterValue] = Field(default={})
    """The target's options likewise, for the CPU `threads`."""

    @property
    def id(self) -> str:
        """Twelve hexadecimal digits that name this case."""
        content = self.model_dump(mode="json")
        for name, field in AttentionProblem.model_fields.items():
            if name not in FIRST_FIELDS and content["problem"][name] == field.default:
                del content["problem"][name]
        return digest(content)[:12]

    @property
    def settings(self) -> dict[str, ParameterValue]:
        """Parameters and options together; `target.<name>` is an option whose name is a parameter's, too."""
        options = {
            f"{OF_THE_TARGET}{name}" if name in self.params else name: value
            for name, value in self.target_options.items()
        }
        return {**options, **self.params}

    def describe(self) -> str:
        """Return one line for a person, `flash · cpu · b1 h8 s256 d64 f32 causal`."""
        settings = self.settings
        words: list[Any] = [self.variant, self.target, self.problem.describe()]
        if settings:
            words.append(" ".join(f"{key}={value}" for key, value in sorted(settings.items())))
        return " · ".join(words)
