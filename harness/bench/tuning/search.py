"""A search: candidates of one problem, variant and target take part in contests until the best is known.

A contest (`harness.bench.tuning.contest`) compares some candidates with where the search began.
The last one compares the best few and the default, as narrowly as the experiment's `[timing]` says: by its
intervals one of them wins, or the default does.
"""

import time
from collections.abc import Sequence

from harness.bench.row_maker import CaseRecord
from harness.bench.running.context import RunContext
from harness.bench.running.runner import all_get_rows
from harness.bench.tuning.candidates import Candidate, Candidates
from harness.bench.tuning.contest import Contest
from harness.bench.tuning.found import Found, SearchSettings
from harness.bench.tuning.kept_trials import kept_trials
from harness.bench.tuning.planning import Planning
from harness.bench.tuning.sampler import Sampler
from harness.bench.tuning.space import SearchSpace, Setting
from harness.bench.tuning.trials import (
    Fate,
    Trial,
    best_of,
    counts_of,
    fate_of,
    gain_in_model,
    gain_in_time,
    trial_line,
)
from harness.bench.workers.process import WorkerFailure
from harness.experiment.experiment import Experiment
from harness.experiment.settings import TimingSettings
from harness.problem.case import Case
from harness.results.result import Result
from harness.results.statistics import Interval, paired_ratio
from harness.system.errors import InputError, UnsupportedError
from harness.system.status import Status

TOGETHER = 4
"""Candidates of a contest."""
FINALISTS = 3
"""Candidates of the last contest, beside the default."""
SHARE_OF_FINAL = 0.25
"""Of the budget, at most, is for the last contest."""
PATIENCE = 32
"""Candidates in a row of which no interval reaches the best one's value, after which a search ends."""
CONTEST_S = 0.8
"""Seconds of timing for each that takes part in a contest."""
CONTEST_INTERVAL, CONTEST_STARTS = 0.02, 3
"""A contest's candidates are known well enough with such an interval, after so many starts."""


class Search:
    """Searches one space."""

    def __init__(
        self,
        context: RunContext,
        space: SearchSpace,
        planning: Planning,
        settings: SearchSettings,
        experiment: Experiment,
    ) -> None:
        """Prepare to search; `experiment` says how candidates are checked and the last contest is timed."""
        self._context = context
        self._space = space
        self._planning = planning
        self._settings = settings
        self._experiment = experiment
        self._trials: list[Trial] = []
        self._records: dict[str, CaseRecord] = {}
        self._code_of: dict[str, str] = {}
        self._last_number = 0
        self._beaten = 0
        """Candidates in a row that have not reached the best one."""

    def run(self) -> Found:
        """Search until it is enough; raises `UnsupportedError` where there is nothing to choose from."""
        self._began = time.monotonic()
        self._narrow_space()
        sampler = Sampler(self._space, self._settings.seed)
        self._candidates = Candidates(
            self._space, sampler, self._planning, self._settings.seed, self._note, self._next_number
        )
        self._begin()
        if self._start.id not in self._context.rows:
            self._try([])
        start_row = self._context.rows[self._start.id]
        if self._gain(start_row) is None:
            missing = "model" if self._settings.by_model else "time"
            reason = start_row.reason or f"it has no {missing}"
            raise UnsupportedError(f"no search: where it begins is {start_row.status}: {reason}")
        while (why := self._why_enough()) is None:
            best = best_of(self._trials)
            most = min(TOGETHER, self._settings.most_trials - self._tried)
            chosen = self._candidates.next_ones(most, None if best is None else best.point)
            if not chosen:
                why = "all was tried"
                break
            self._try(chosen)
        return self._decided(why)

    def _narrow_space(self) -> None:
        """Leave out of the space what is refused whatever its value."""
        self._default_settings = self._planning.settings_of(self._space.default)
        self._space = self._space.with_default(self._default_settings)
        useless = [setting.name for setting in self._space.settings if self._is_useless(setting)]
        self._space = self._space.without(useless)
        if not self._space.settings:
            raise UnsupportedError(f"no search: {self._space.default.variant} leaves nothing to choose")

    def _is_useless(self, setting: Setting) -> bool:
        """Return whether all values of a setting are refused, the others left open."""
        left_open = {other.name: None for other in self._space.settings}
        for value in setting.values:
            if value is None or value == self._default_settings.get(setting.name):
                continue
            try:
                self._planning.settings_of(self._space.case({**left_open, setting.name: value}))
            except (InputError, UnsupportedError, WorkerFailure):
                continue
            return False
        return True

    def _begin(self) -> None:
        """Note where the search begins, and what an interrupted run has tried already."""
        given = self._settings.begin_at
        names = {setting.name: setting for setting in self._space.settings}
        for name, value in given.items():
            if name not in names:
                raise InputError(f"--from {name}={value}: expected one of {', '.join(names)}")
            if value not in names[name].values:
                values = ", ".join(str(known) for known in names[name].values if known is not None)
                raise InputError(f"--from {name}={value}: expected one of {values}")
        self._start = self._space.case({name: given.get(name) for name in names})
        planned = self._planning.settings_of(self._start)
        point = {name: planned.get(name) for name in names}
        is_known = self._space.holds(point)
        start = Trial(0, point, self._start, Fate.MEASURED, Interval(1.0, 1.0, 1.0))
        self._records[self._start.id] = CaseRecord(self._start, trial=0)
        self._trials.append(start)
        self._candidates.note(start, planned)
        if is_known:
            self._candidates.sampler.add(point, start.cost)
        self._take_up_earlier()

    def _take_up_earlier(self) -> None:
        """Keep what an interrupted run has tried; the time that it took is spent."""
        for kept in kept_trials(self._context, self._space, self._start):
            record, row = kept.record, kept.row
            self._context.keep(record, row)
            self._began -= row.elapsed_s or 0.0
            if record.key is not None:
                self._records[record.case.id] = record
            if row.trial:
                gain = self._gain(row)
                trial = Trial(row.trial, kept.point, record.case, fate_of(row, gain), gain, row.reason or "")
                self._candidates.end(trial, None)
                self._trials.append(trial)

    def _gain(self, row: Result) -> Interval | None:
        """Return how many times as fast as where the search began a row is."""
        if not self._settings.by_model:
            return gain_in_time(row)
        start = self._context.rows.get(self._start.id) or self._context.earlier.get(self._start.id)
        return None if start is None else gain_in_model(row, start)

    def _try(self, chosen: Sequence[Candidate]) -> None:
        """Let candidates take part in a contest, and learn from it."""
        budget_s = CONTEST_S * (len(chosen) + 1)
        best = best_of(self._trials)
        least = None if best is None or best.gain is None else best.gain.low
        contest = self._contest(
            self._start,
            [(candidate.case, candidate.number) for candidate in chosen],
            TimingSettings(interval=CONTEST_INTERVAL, starts=CONTEST_STARTS, budget_s=budget_s),
            least,
        )
        for candidate in chosen:
            trial = self._ended(candidate, contest)
            self._candidates.end(trial, candidate.asked)
            self._note(trial)

    def _contest(
        self,
        baseline: Case,
        cases: Sequence[tuple[Case, int | None]],
        timing: TimingSettings,
        least_speedup: float | None = None,
    ) -> Contest:
        context = self._context
        limits = timing.model_copy(update={"min_sample_s": self._experiment.timing.min_sample_s})
        context.experiment = self._experiment.changed(timing=limits)
        candidates = {case.id: (case, number) for case, number in cases}
        contest = Contest(context, baseline, candidates, self._records, self._code_of, least_speedup)
        with all_get_rows([context], [case for case, _ in cases]):
            contest.run()
        self._records |= contest.records
        return contest

    def _ended(self, candidate: Candidate, contest: Contest) -> Trial:
        """Return what became of a candidate of a contest."""
        case_id = candidate.case.id
        other = contest.same_code.get(case_id)
        row = self._context.rows.get(case_id if other is None else other)
        if row is None:  # of code that the default, or another candidate here, has
            return Trial(candidate.number, candidate.point, candidate.case, Fate.FAILED, reason="no row")
        gain = self._gain(row)
        fate = fate_of(row, gain)
        if other is not None and fate is Fate.MEASURED:
            fate = Fate.SAME
        return Trial(candidate.number, candidate.point, candidate.case, fate, gain, row.reason or "")

    def _note(self, trial: Trial) -> None:
        """Journal what was refused unbuilt, see whether a trial reaches the best, and tell of it."""
        best, case = best_of(self._trials), trial.case
        if trial.fate is Fate.REFUSED and case is not None and case.id not in self._context.rows:
            record = CaseRecord(case, trial=trial.number)
            self._context.fail(record, "plan", WorkerFailure(Status.UNSUPPORTED, trial.reason))
        self._trials.append(trial)
        if trial.fate is Fate.MEASURED and trial.gain and best and best.gain:
            self._beaten = self._beaten + 1 if trial.gain.high < best.gain.value else 0
        start = self._trials[0].point
        line = trial_line(trial, start, best_of(self._trials), by_model=self._settings.by_model)
        self._context.observer.message(line)

    def _next_number(self) -> int:
        self._last_number = max([self._last_number, *(trial.number for trial in self._trials)]) + 1
        return self._last_number

    @property
    def _tried(self) -> int:
        """Candidates that were built."""
        return sum(trial.number > 0 and trial.fate is not Fate.REFUSED for trial in self._trials)

    def _why_enough(self) -> str | None:
        """Return why the search ends now; None where it goes on."""
        spent_s = time.monotonic() - self._began
        share = 0.0 if self._settings.by_model else SHARE_OF_FINAL
        if spent_s >= (1 - share) * self._settings.budget_s:
            return f"{self._settings.budget_s:g} s are spent"
        if self._tried >= self._settings.most_trials:
            return f"{self._tried} were tried"
        if self._beaten >= PATIENCE:
            return f"no interval of the last {PATIENCE} reached the best"
        return None

    def _decided(self, why: str) -> Found:
        """Return what wins, by a last contest with the default, or by the model."""
        measured = [trial for trial in self._trials if trial.fate is Fate.MEASURED and trial.case]
        ranked = sorted(measured, key=lambda trial: trial.cost or 0.0)
        gains = self._modelled(ranked[:1]) if self._settings.by_model else self._final(ranked[:FINALISTS])
        best = max(gains, key=lambda trial: gains[trial].value, default=ranked[0])
        gain, default = gains.get(best), self._space.default
        is_better = gain is not None and gain.low > 1
        winner = best.case if is_better else None
        row = self._context.rows.get((winner or default).id)
        return Found(
            default=default,
            default_settings=self._default_settings,
            start=self._start,
            start_point=self._trials[0].point,
            winner=winner,
            point=best.point if is_better else {},
            gain=gain,
            best=best,
            counts=counts_of(self._trials),
            why=why,
            by_model=self._settings.by_model,
            is_checked=row is not None and row.status.is_checked,
        )

    def _modelled(self, best: Sequence[Trial]) -> dict[Trial, Interval]:
        """Return how many times as fast as the default the best trial is by the model."""
        default, rows = self._space.default, self._context.rows
        if default.id not in rows:
            self._contest(default, [(default, None)], self._experiment.timing)
        gains = {
            trial: gain_in_model(rows[trial.case.id], rows[default.id])
            for trial in best
            if trial.case and trial.case != default
        }
        return {trial: gain for trial, gain in gains.items() if gain is not None}

    def _final(self, finalists: Sequence[Trial]) -> dict[Trial, Interval]:
        """Time finalists and the default anew, beside each other; return how many times as fast they are.

        All are compared with where the search began, as in each contest, so that their rows agree.
        """
        default, timing = self._space.default, self._experiment.timing
        trials = {trial.case.id: trial for trial in finalists if trial.case and trial.case != default}
        if not trials:
            return {}
        cases = [(default, 0 if default == self._start else None)]
        cases += [(trial.case, trial.number) for trial in trials.values() if trial.case]
        for case, _ in [(self._start, 0), *cases]:
            self._context.rows.pop(case.id, None)
        self._code_of.clear()
        budget_s = min(timing.budget_s, SHARE_OF_FINAL * self._settings.budget_s)
        contest = self._contest(self._start, cases, timing.model_copy(update={"budget_s": budget_s}))
        gains = {trial: self._over_default(case_id) for case_id, trial in trials.items()}
        for case_id, other in contest.same_code.items():
            if other == default.id:
                gains[trials[case_id]] = Interval(1.0, 1.0, 1.0)
        return {trial: gain for trial, gain in gains.items() if gain is not None}

    def _over_default(self, case_id: str) -> Interval | None:
        """Return the ratio of the default's time to a case's, round by round of the last contest."""
        default_id, row = self._space.default.id, self._context.rows.get(case_id)
        if row is None or gain_in_time(row) is None:
            return None
        rounds = self._context.folder.rounds()
        pairs = [
            (taken.seconds[default_id][0], taken.seconds[case_id][0], taken.start)
            for taken in rounds
            if taken.group == rounds[-1].group and {default_id, case_id} <= taken.seconds.keys()
        ]
        return paired_ratio(*map(list, zip(*pairs, strict=True))) if pairs else None
