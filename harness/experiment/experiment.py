"""An experiment: a TOML file that asks one question, read, checked and turned into cases.

`load_experiment` accepts nothing that it does not understand: every mistake ends in one line that names the
file, the key, what was found and what was expected.
"""

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    Field,
    PrivateAttr,
    ValidationError,
    model_validator,
)

from harness import plugins
from harness.experiment.axes import CONDITION_NAMES, problem_values
from harness.experiment.case_settings import Settings, checked, concrete
from harness.experiment.condition import holds, parse_condition
from harness.experiment.covering import covering_cases
from harness.experiment.experiment_file import named_source, text_of, toml_of
from harness.experiment.mistakes import wrong_names
from harness.experiment.planned_case import PlannedCase, Planner
from harness.experiment.profiles import mistakes_in_profiles, profile_names, unknown_profile, with_profile
from harness.experiment.searched import ParamsSource, own_source
from harness.experiment.selection import select
from harness.experiment.settings import (
    CheckSettings,
    LimitSettings,
    Names,
    ParamsAxis,
    ProblemTable,
    SettingsAxes,
    TimingSettings,
    VariantSettings,
)
from harness.experiment.shipped import find_experiment, word_for
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case, ParameterValue
from harness.system.errors import HarnessError, InputError, Mistakes
from harness.system.validation import FrozenModel, each_once, messages, plain_entries, shown

MOST_CASES = 50_000
"""Cases that an experiment may mean: more is a mistake, or takes longer to plan than anyone waits."""


def _folder_name(name: str) -> str:
    if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}", name) is None:
        expected = "letters, digits, '.', '_' and '-', beginning with a letter or digit, 100 at most"
        raise ValueError(f"found {shown(name)}, expected {expected}")
    return name


class Experiment(FrozenModel):
    """A question, and the cases that answer it."""

    name: Annotated[str, AfterValidator(_folder_name)]
    """Names the folder of results, hence letters, digits, `_`, `.` and `-` only."""
    question: Annotated[str, Field(min_length=1)]
    variants: Names
    targets: Names = ("cpu",)
    baseline: str | None = None
    params: ParamsAxis = ("default",)
    """`tuned`: cases that leave open what a search may choose have the winner of their class, see
    `harness.experiment.winners`; both give two cases for each."""
    covering: Annotated[tuple[str, ...], AfterValidator(each_once)] = ()
    """Experiments of whose cases few are taken, in place of problems, see `harness.experiment.covering`."""
    problem: ProblemTable | None = None
    problems: tuple[ProblemTable, ...] = ()
    """Further products of axes, `[[problems]]`, each independent of the others and of `[problem]`."""
    variant: dict[str, VariantSettings] = Field(default={})
    target: dict[str, SettingsAxes] = Field(default={})
    """Options of each target by its name without a chip."""
    check: CheckSettings = CheckSettings()
    timing: TimingSettings = TimingSettings()
    limits: LimitSettings = LimitSettings()
    figures: dict[str, dict[str, Any]] = Field(default={})
    """Settings of each figure to draw, which the figure itself validates."""
    profiles: dict[str, dict[str, Any]] = Field(default={})
    """What the file changes for other machines; none are left in what `load_experiment` returns."""

    _path: Path | None = PrivateAttr(default=None)
    _text: str | None = PrivateAttr(default=None)
    _profile: str | None = PrivateAttr(default=None)
    _planned: dict[str, PlannedCase] | None = PrivateAttr(default=None)
    _planner: Planner = PrivateAttr(default_factory=lambda: Planner(()))

    @model_validator(mode="after")
    def _has_problems(self) -> Self:
        if self.covering:
            parameters = any(settings.parameters for settings in self.variant.values())
            if self.tables() or self.target or parameters:
                own = "problems, parameters and target options of its own"
                raise ValueError(f"found covering, which takes whole cases from elsewhere, and {own}")
        elif self.problem is None and not self.problems:
            raise ValueError("no problem is given; expected a table [problem] or [[problems]]")
        return self

    @property
    def path(self) -> Path | None:
        """The file that the experiment was read from."""
        return self._path

    @property
    def profile(self) -> str | None:
        """The profile that has changed the file's experiment, None where none has."""
        return self._profile

    @property
    def command_words(self) -> tuple[str, ...]:
        """What names it on a command line: its file, and its profile if it has one."""
        options = () if self._profile is None else ("--profile", self._profile)
        return (word_for(self._path) if self._path else self.name, *options)

    @property
    def text(self) -> str:
        """The TOML text that the experiment was read from; without one, what it says, in JSON."""
        return self._text or self.model_dump_json(indent=2)

    def cases(self, only: Sequence[str] = (), option: str = "--only") -> list[Case]:
        """Return the cases, those of one problem and target side by side, variants in their listed order."""
        cases = [planned.case for planned in self._plan().values()]
        if not cases:
            raise self._error("variant", "the conditions 'where' leave no case")
        return select(cases, only, option) if only else cases

    def check_of(self, case: Case) -> CheckSettings:
        """Return what a case is checked with: `[check]`, or what the table of its problem says instead."""
        table = self._table_of(case)
        names = None if table is None else table.check.distributions
        return self.check if names is None else self.check.model_copy(update={"distributions": names})

    def is_timed(self, case: Case) -> bool:
        """Return whether a case is to be timed, if anything is."""
        table = self._table_of(case)
        return table is None or table.timing.enabled

    def _table_of(self, case: Case) -> ProblemTable | None:
        planned = self._plan().get(case.id)
        return None if planned is None else planned.table

    def params_source(self, case: Case) -> ParamsSource:
        """Return where the settings of a case come from that a search may choose."""
        planned = self._plan().get(case.id)
        return own_source(case) if planned is None else planned.params_source

    @property
    def without_winner(self) -> list[Case]:
        """The cases that were to have tuned settings, and have their own: no search has found any."""
        self._plan()
        return self._planner.without_winner

    def _plan(self) -> dict[str, PlannedCase]:
        if self._planned is None:
            planned: dict[str, PlannedCase] = {}
            self._planner = Planner(self.params)
            for case, table in self._cases():
                for of_case in self._planner.planned(case, table):
                    planned.setdefault(of_case.case.id, of_case)
            self._planned = planned
        return self._planned

    def changed(self, text: str | None = None, **changes: Any) -> "Experiment":
        """Return an experiment with other values of fields, which are checked already, and its cases anew."""
        other = self.model_copy(update=changes)
        other._planned, other._text = None, self._text if text is None else text
        return other

    @staticmethod
    def groups(cases: Iterable[Case]) -> list[list[Case]]:
        """Return the cases by problem, target and target options: what is timed against each other."""
        groups: dict[Any, list[Case]] = {}
        for case in cases:
            key = (case.problem, case.target, tuple(sorted(case.target_options.items())))
            groups.setdefault(key, []).append(case)
        return list(groups.values())

    def _cases(self) -> Iterator[tuple[Case, ProblemTable]]:
        """Yield every case of every product of axes, with the table that is this product.

        Raises `InputError` with all mistakes in all tables.
        """
        mistakes = Mistakes()
        if self.covering:
            yield from self._covering_cases()
        for key, table in self.tables().items():
            options = mistakes.each(self.targets, self._target_options, key, table)
            parameters = mistakes.each(self.variants, self._parameters, key, table)
            count = table.count * sum(map(len, options.values())) * sum(map(len, parameters.values()))
            if count > MOST_CASES:
                many = (
                    f"{table.count:,} problems with their variants, targets and settings are {count:,} cases"
                )
                raise self._error(key, f"{many}, expected at most {MOST_CASES:,}")
            problems: list[AttentionProblem] = []
            with mistakes.gathered():
                problems += self._problems(key, table)
            for problem, target in itertools.product(problems, options):
                takes_part = mistakes.each(parameters, self._takes_part, problem, target, key, table)
                variants = [name for name in parameters if takes_part.get(name)]
                for target_options, variant in itertools.product(options[target], variants):
                    for params in parameters[variant]:
                        case = Case(
                            problem=problem,
                            variant=variant,
                            target=target,
                            params=params,
                            target_options=target_options,
                        )
                        yield case, table
        mistakes.require_none()

    def _covering_cases(self) -> Iterator[tuple[Case, ProblemTable]]:
        """Yield few cases of the experiments in `covering`, those where variants here take part."""
        planned = {
            planned.case.id: (planned.case, planned.table)
            for other in self._covered()
            for planned in other._plan().values()
        }
        covered = ", ".join(self.covering)
        pool = [
            case
            for case, _ in planned.values()
            if case.target in self.targets
            and case.variant in self.variants
            and self._takes_part(case.variant, case.problem, case.target)
        ]
        for key, listed, had in (
            ("variants", self.variants, {case.variant for case in pool}),
            ("targets", self.targets, {case.target for case in pool}),
        ):
            for name in listed:
                if name not in had:
                    raise self._error(key, f"found {shown(name)}, of which {covered} has no case")
        yield from (planned[case.id] for case in covering_cases(pool))

    def _covered(self) -> Iterator["Experiment"]:
        """Yield the experiments in `covering`: those beside this one's file, else by their bare names."""
        for name in self.covering:
            beside = None if self._path is None else self._path.with_name(f"{name}.toml")
            try:
                path = beside if beside is not None and beside.is_file() else find_experiment(name)
            except InputError as error:
                raise self._error("covering", str(error)) from error
            if "covering" in toml_of(text_of(path), path):
                raise self._error("covering", f"{path} has this key, too; expected experiments with problems")
            yield load_experiment(path)

    def tables(self) -> dict[str, ProblemTable]:
        """Return `[problem]`, then each `[[problems]]`, by their keys."""
        first = {} if self.problem is None else {"problem": self.problem}
        return first | {f"problems[{index}]": table for index, table in enumerate(self.problems)}

    def _problems(self, key: str, table: ProblemTable) -> Iterator[AttentionProblem]:
        try:
            yield from table.problems()
        except ValueError as error:
            raise InputError(
                *(f"{self._source}: {key}: {line}" for line in f"{error}".split("\n"))
            ) from error

    def _takes_part(
        self,
        variant: str,
        problem: AttentionProblem,
        target: str,
        key: str = "",
        table: ProblemTable | None = None,
    ) -> bool:
        """Return whether a variant has cases of a problem, of this table, and a target."""
        of_table = {} if table is None else table.variant
        settings = of_table.get(variant, self.variant.get(variant))
        if settings is None or settings.where is None:
            return True
        condition = parse_condition(settings.where, CONDITION_NAMES)
        try:
            return holds(condition, {**problem_values(problem), "target": target})
        except ValueError as error:
            owner = f"{key}." if variant in of_table else ""
            raise self._error(f"{owner}variant.{variant}.where", str(error)) from error

    def _parameters(self, variant: str, key: str, table: ProblemTable) -> list[Settings]:
        owner = f"{key}." if variant in table.variant else ""
        settings = table.variant.get(variant, self.variant.get(variant, VariantSettings()))
        return self._combinations("variant", variant, settings.parameters, owner)

    def _target_options(self, target: str, key: str, table: ProblemTable) -> list[Settings]:
        name = plugins.name_of(target)
        owner = f"{key}." if name in table.target else ""
        return self._combinations("target", name, table.target.get(name, self.target.get(name, {})), owner)

    def _combinations(
        self, kind: str, name: str, axes: dict[str, tuple[ParameterValue, ...]], owner: str
    ) -> list[Settings]:
        """Return the product of a plugin's axes, each point validated, coerced and completed by its model."""
        key = f"{owner}{kind}.{name}"
        count = math.prod(map(len, axes.values()))
        if count > MOST_CASES:
            many = f"the lists multiply to {count:,} combinations"
            raise self._error(key, f"{many}, expected at most {MOST_CASES:,}")
        combinations: list[Settings] = []
        mistakes = Mistakes()
        for point in itertools.product(*axes.values()):
            values = dict(zip(axes, point, strict=True))
            try:
                with mistakes.gathered():
                    combinations.append(concrete(checked(kind, name, values, f"{self._source}: {key}.")))
            except HarnessError as error:
                if axes:
                    raise self._error(key, str(error)) from error
                return [{}]  # its cases end as rows that say why
        mistakes.require_none()
        return combinations

    @property
    def _source(self) -> str:
        return named_source(self._path or self.name, self._profile)

    def _error(self, key: str, message: str) -> InputError:
        return InputError(f"{self._source}: {key}: {message}")


def with_params(experiment: Experiment, params: str | None, argument: str) -> Experiment:
    """Return an experiment with the settings that an argument of this name asks for; None: as it is."""
    if params is None:
        return experiment
    if params not in ("default", "tuned"):
        raise InputError(f"{argument}: found {shown(params)}, expected 'tuned' or 'default'")
    return experiment.changed(params=(params,))


def named_experiment(word: str, profile: str | None = None) -> Experiment:
    """Return the experiment in a file, or that of a bare name such as `seq_sweep`; see `load_experiment`."""
    return load_experiment(find_experiment(word), profile)


def load_experiment(path: Path | str, profile: str | None = None) -> Experiment:
    """Read and check an experiment, its plan of cases and its profiles included, and return it."""
    path = Path(path)
    return parse_experiment(text_of(path), path, profile)


def parse_experiment(text: str, path: Path, profile: str | None = None) -> Experiment:
    """Check the text of an experiment that was read from a path, see `load_experiment`."""
    data = toml_of(text, path)
    unknown = None if profile is None else unknown_profile(profile, data)
    wrong = [*mistakes_in_profiles(data), *([] if unknown is None else [unknown])]
    lines = {line: f"{path}: {line}" for line in wrong}
    experiments = {}
    for name in [None] if wrong else [None, *profile_names(data)]:
        try:
            experiments[name] = _checked(with_profile(data, name), text, path, name)
        except InputError as error:
            begin = f"{named_source(path, name)}: "
            for line in error.mistakes:
                lines.setdefault(line.removeprefix(begin), line)
    if lines:
        raise InputError(*lines.values())
    return experiments[profile]


def _checked(data: dict[str, Any], text: str, path: Path, profile: str | None) -> Experiment:
    """Return the experiment in some data.

    Raises `InputError` with a line for each mistake in its values; without any, for each name that means
    nothing; without any, for each problem and setting that cannot be.
    """
    source = named_source(path, profile)
    if isinstance(data.get("problems"), dict):
        raise InputError(
            f"{source}: problems: found [problems.…], expected [[problems]] before it; settings that belong "
            "to [problem] stand in [problem.variant.NAME] and [problem.target.NAME]"
        )
    try:
        experiment = Experiment.model_validate(plain_entries(data), strict=True)
    except ValidationError as error:
        raise InputError(*(f"{source}: {line}" for line in messages(error, model=Experiment))) from error
    except ValueError as error:
        raise InputError(f"{source}: {error}") from error
    experiment._path, experiment._text, experiment._profile = path, text, profile
    wrong = [f"{source}: {line}" for line in wrong_names(experiment)]
    if wrong:
        raise InputError(*wrong)
    experiment.cases()
    return experiment
