"""A table `[problem]` or `[[problems]]`: a product of axes, and settings for these problems alone."""

from pydantic import Field

from harness.experiment.axes import ProblemAxes
from harness.experiment.settings import CheckOfTable, SettingsAxes, TimingOfTable, VariantSettings


class ProblemTable(ProblemAxes):
    """Axes of problems, with what replaces the experiment's settings of a variant or a target for them."""

    variant: dict[str, VariantSettings] = Field(default={})
    target: dict[str, SettingsAxes] = Field(default={})
    check: CheckOfTable = Field(default=CheckOfTable())
    timing: TimingOfTable = Field(default=TimingOfTable())
