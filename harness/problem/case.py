"""A case: one problem, built by one variant with one set of parameters, for one target."""

from typing import Any

from pydantic import BaseModel, ConfigDict

from harness.digest import digest
from harness.problem.attention_problem import AttentionProblem

ParameterValue = int | float | bool | str

LATER_FIELDS = {
    "mask_axes": "bqk",
    "bias_axes": "hqk",
    "sinks": False,
    "log_sum_exp": False,
    "output_projection": False,
}
"""Fields of a problem that came later, with the values that all problems had before: left out of ids, so that
cases keep theirs."""

OF_THE_TARGET = "target."
"""Begins the name of a target's option where a variant has a parameter of that name."""


class Case(BaseModel):
    """The unit of a sweep; equal cases have equal ids in every run and on every machine."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    problem: AttentionProblem
    variant: str
    target: str
    """Target name, with a chip where it matters: `cpu`, `cpu:avx2`, `cuda:sm_80`."""
    params: dict[str, ParameterValue] = {}
    """The variant's tunable parameters: those that were set, and the defaults that are concrete."""
    target_options: dict[str, ParameterValue] = {}
    """The target's options likewise, for the CPU `threads`."""

    @property
    def id(self) -> str:
        """Twelve hexadecimal digits that name this case."""
        content = self.model_dump(mode="json")
        for name, usual in LATER_FIELDS.items():
            if content["problem"][name] == usual:
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
