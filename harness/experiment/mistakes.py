"""All mistakes of an experiment's file at once: what is wrong is taken out, then the rest is looked at."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from harness import plugins
from harness.errors import HarnessError, InputError
from harness.experiment.figure_settings import parse_settings
from harness.experiment.problem_table import ProblemTable
from harness.problem.inputs import DISTRIBUTIONS
from harness.validation import unknown_name

if TYPE_CHECKING:
    from harness.experiment.experiment import Experiment

STAND_INS: Mapping[str, Any] = {"name": "unnamed", "question": "?"}
SETTINGS = ("variant", "target", "check", "timing")
SOME_PROBLEM: Mapping[str, Any] = {"heads": 1, "seq": 1, "head_dim": 1}


@contextmanager
def noting(mistakes: list[str]) -> Iterator[None]:
    """Note the lines of an `InputError` that is raised in here, and go on after it."""
    try:
        yield
    except InputError as error:
        mistakes += error.mistakes


class Repair:
    """A file's data, in which each mistake that is found is replaced by something harmless."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        """Begin with the data as it was read."""
        self.data = dict(data)
        self.guessed: set[str] = set()
        """Keys of tables whose problems are not what the file says."""
        self._has_unknown_keys = False

    def explains(self, error: ValidationError) -> bool:
        """Whether what is missing may be what stands under a key that is misspelt."""
        return self._has_unknown_keys and all(not detail["loc"] for detail in error.errors())

    def apply(self, error: ValidationError) -> bool:
        """Take out what pydantic finds wrong; return False where too little is left to judge by."""
        before = dict(self.data)
        is_enough = all(self._without(detail["type"], *detail["loc"]) for detail in error.errors())
        return is_enough and self.data != before

    def _without(self, kind: str, key: int | str = "problem", *inner: int | str) -> bool:
        if key in STAND_INS:
            self.data[str(key)] = STAND_INS[str(key)]
        elif key in ("variants", "targets"):
            return self._keep_names(str(key))
        elif key == "problem":
            self.data[key] = self._table("problem", self.data.get(key), inner)
        elif key == "problems":
            self._without_problems(inner)
        else:
            self._has_unknown_keys |= kind == "extra_forbidden" and not inner
            self._remove(str(key), inner)
        return True

    def _keep_names(self, key: str) -> bool:
        """Keep those elements of a list that may be names; return whether there are any."""
        found = self.data.get(key)
        names = dict.fromkeys(name for name in _elements(found) if isinstance(name, str))
        self.data[key] = tuple(names)
        return bool(names)

    def _without_problems(self, inner: Sequence[int | str]) -> None:
        tables = self.data["problems"]
        if isinstance(tables, tuple) and inner and isinstance(inner[0], int):
            index = inner[0]
            table = self._table(f"problems[{index}]", tables[index], inner[1:])
            self.data["problems"] = (*tables[:index], table, *tables[index + 1 :])
            return
        del self.data["problems"]
        if "problem" not in self.data:
            self.data["problem"] = self._table("problem", None, ())

    def _table(self, key: str, table: Any, inner: Sequence[int | str]) -> dict[str, Any]:
        """Return a table of problems without a mistake in its settings, or with other problems."""
        settings = (
            {name: table[name] for name in SETTINGS if name in table} if isinstance(table, dict) else {}
        )
        if inner and inner[0] in settings:
            return {**table, inner[0]: _without_entry(settings[str(inner[0])], inner[1:])}
        self.guessed.add(key)
        return {**SOME_PROBLEM, **settings}

    def _remove(self, key: str, inner: Sequence[int | str]) -> None:
        """Remove the entry of a section that is wrong, or the section."""
        if inner and isinstance(self.data.get(key), dict) and inner[0] in self.data[key]:
            self.data[key] = _without_entry(self.data[key], inner)
        else:
            self.data.pop(key, None)


def _elements(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _without_entry(table: Any, location: Sequence[int | str]) -> dict[str, Any]:
    """Return a table without the entry that a location leads to; empty where it is none."""
    if not isinstance(table, dict) or not location:
        return {}
    return {name: value for name, value in table.items() if name != location[0]}


def wrong_names(experiment: "Experiment") -> Iterator[str]:
    """Yield a message for each name that means nothing: variants, targets, chips, distributions, figures."""
    for variant in experiment.variants:
        if variant not in plugins.names("variant"):
            yield f"variants: {plugins.unknown('variant', variant)}"
    for target in experiment.targets:
        yield from _wrong_target(target)
    if experiment.baseline is not None and experiment.baseline not in experiment.variants:
        yield f"baseline: {unknown_name('variant', experiment.baseline, experiment.variants)}"
    yield from _not_listed(experiment, experiment, "")
    for key, table in experiment.tables().items():
        yield from _not_listed(experiment, table, f"{key}.")
    for variant in experiment.check.supported:
        if variant not in experiment.variants:
            yield f"check.supported: {unknown_name('variant', variant, experiment.variants)}"
    yield from _unknown_distributions(experiment.check.distributions, "")
    for key, table in experiment.tables().items():
        yield from _unknown_distributions(table.check.distributions or (), f"{key}.")
    for figure in experiment.figures:
        if figure not in plugins.names("figure"):
            yield f"figures.{figure}: {plugins.unknown('figure', figure)}"
        else:
            yield from _wrong_figure_settings(figure, experiment.figures[figure], experiment.variants)


def _unknown_distributions(names: Sequence[str], prefix: str) -> Iterator[str]:
    for name in names:
        if name not in DISTRIBUTIONS:
            yield f"{prefix}check.distributions: {unknown_name('distribution', name, DISTRIBUTIONS)}"


def with_known_names(experiment: "Experiment") -> "Experiment":
    """Return an experiment with those of its variants and targets that exist."""
    variants = tuple(name for name in experiment.variants if name in plugins.names("variant"))
    targets = tuple(name for name in experiment.targets if not any(_wrong_target(name)))
    return experiment.model_copy(update={"variants": variants, "targets": targets})


def _not_listed(experiment: "Experiment", owner: "Experiment | ProblemTable", prefix: str) -> Iterator[str]:
    """Yield a message for each variant or target that has settings and does not take part."""
    for name in owner.variant:
        if name not in experiment.variants:
            listed = ", ".join(experiment.variants)
            yield f"{prefix}variant.{name}: 'variants' does not list it; expected one of {listed}"
    target_names = dict.fromkeys(plugins.name_of(target) for target in experiment.targets)
    for name in owner.target:
        if name not in target_names:
            listed = ", ".join(target_names)
            yield f"{prefix}target.{name}: 'targets' does not list it; expected one of {listed}"


def _wrong_figure_settings(figure: str, settings: Any, variants: Sequence[str]) -> Iterator[str]:
    """Yield a message for each setting that a figure does not take."""
    try:
        parse_settings(plugins.load("figure", figure), settings, variants)
    except InputError as error:
        yield from error.lines
    except HarnessError as error:
        yield str(error)


def _wrong_target(target: str) -> Iterator[str]:
    """Yield a message if a target, or the chip after its colon, is unknown."""
    try:
        plugins.check_target(target)
    except HarnessError as error:
        yield f"targets: {error}"
