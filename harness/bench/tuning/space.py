"""What a search chooses from: the settings that a variant and its target declare, or an experiment lists."""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from harness.experiment.case_settings import Settings, complete_case
from harness.experiment.searched import owners, searched_values
from harness.experiment.winners import fixed_settings
from harness.problem.case import OF_THE_TARGET, Case, ParameterValue

Value = ParameterValue | None
"""Of a setting; None leaves it to variant and target."""
Point = Mapping[str, Value]
"""A value for each setting of a space."""


@dataclass(frozen=True)
class Setting:
    """A setting, and the values that it is chosen from, in their order."""

    name: str
    """As `Case.settings` has it: `target.NAME` for an option that a parameter shares its name with."""
    of_target: bool
    values: tuple[Value, ...]
    is_listed: bool = False
    """Whether an experiment lists the values, and there are no others."""

    @property
    def is_ordered(self) -> bool:
        """Whether values are sizes, of which neighbours are alike."""
        return all(isinstance(value, int) and not isinstance(value, bool) for value in self.values)

    @property
    def field(self) -> str:
        """What variant or target call it."""
        return self.name.removeprefix(OF_THE_TARGET) if self.of_target else self.name

    def neighbours(self, value: Value) -> Sequence[Value]:
        """Return the sizes beside one; of what is no size all other values."""
        if not self.is_ordered or value not in self.values:
            return [other for other in self.values if other != value]
        place = self.values.index(value)
        return [self.values[near] for near in (place - 1, place + 1) if 0 <= near < len(self.values)]


@dataclass(frozen=True)
class SearchSpace:
    """All points that a search may try for a case that leaves its settings open."""

    default: Case
    """Leaves all settings of the space to variant and target."""
    settings: tuple[Setting, ...]

    @property
    def size(self) -> int:
        """How many points there are, also such as cannot be built."""
        return math.prod(len(setting.values) for setting in self.settings)

    def case(self, point: Point) -> Case:
        """Return the case of a point; raises `InputError` for settings that do not fit each other."""
        params, options = dict(self.default.params), dict(self.default.target_options)
        for setting in self.settings:
            value = point[setting.name]
            if value is not None:
                (options if setting.of_target else params)[setting.field] = value
        default = self.default
        return complete_case(default.problem, default.variant, default.target, params, options)

    def point_of(self, settings: Mapping[str, ParameterValue]) -> Point:
        """Return the values of settings, which `Case.settings` names so; None where they leave one out."""
        return {setting.name: settings.get(setting.name) for setting in self.settings}

    def holds(self, point: Point) -> bool:
        """Return whether all values of a point are among those of the space."""
        return all(point[setting.name] in setting.values for setting in self.settings)

    def points(self) -> Iterator[Point]:
        """Yield all points."""
        names = [setting.name for setting in self.settings]
        for values in itertools.product(*(setting.values for setting in self.settings)):
            yield dict(zip(names, values, strict=True))

    def neighbours(self, point: Point) -> Iterator[Point]:
        """Yield the points of the space that differ from one in one setting, sizes by one step."""
        for setting in self.settings:
            for value in setting.neighbours(point[setting.name]):
                if self.holds(near := {**point, setting.name: value}):
                    yield near

    def with_default(self, resolved: Mapping[str, ParameterValue]) -> "SearchSpace":
        """Return the space with the values that variant and target choose where all is left open.

        What they do not tell can be left open.  An option of the target that they do not choose means nothing
        to the case, and is left out.
        """
        settings = []
        for setting in self.settings:
            chosen = resolved.get(setting.name)
            if chosen is None and setting.of_target and not setting.is_listed:
                continue
            values = setting.values
            if setting.is_listed:
                pass
            elif chosen is None:
                values = (None, *values)
            elif chosen not in values:
                values = (*values, chosen)
                if setting.is_ordered:
                    values = tuple(sorted(values, key=lambda size: int(size or 0)))
            settings.append(replace(setting, values=values))
        return replace(self, settings=tuple(settings))

    def without(self, names: Iterable[str]) -> "SearchSpace":
        """Return the space without some settings, which are left open."""
        left_out = set(names)
        return replace(self, settings=tuple(each for each in self.settings if each.name not in left_out))


def spaces_of(cases: Iterable[Case], *, by_model: bool = False) -> list[SearchSpace]:
    """Return a space for each problem, variant and target of some cases, and other settings of theirs.

    Of a setting that a search may choose, several values among such cases are all that it chooses from; a
    single one stays; one that no case sets has the values that its variant or target declares, for a search
    `by_model` where the model sees it.
    """
    groups: dict[object, list[Case]] = {}
    for case in cases:
        fixed = tuple(sorted(fixed_settings(case).items()))
        groups.setdefault((case.problem, case.variant, case.target, fixed), []).append(case)
    return [_space_of(group, by_model) for group in groups.values()]


def _space_of(cases: Sequence[Case], by_model: bool) -> SearchSpace:
    first = cases[0]
    settings: list[Setting] = []
    left_open: dict[str, Settings] = {}
    for place, (kind, owner, own) in enumerate(owners(first)):
        of_target = kind == "target"
        of_cases = [owners(case)[place][2] for case in cases]
        left_open[kind] = dict(own)
        for field, declared in searched_values(kind, owner, by_model=by_model).items():
            listed = tuple(dict.fromkeys(given[field] for given in of_cases if field in given))
            if len(listed) == 1:
                continue
            left_open[kind].pop(field, None)
            name = f"{OF_THE_TARGET}{field}" if of_target and field in _searched_by_variant(first) else field
            settings.append(Setting(name, of_target, listed or declared, is_listed=bool(listed)))
    default = complete_case(
        first.problem, first.variant, first.target, left_open["variant"], left_open["target"]
    )
    return SearchSpace(default, tuple(settings))


def _searched_by_variant(case: Case) -> Mapping[str, object]:
    return searched_values("variant", case.variant)
