"""Which point to try next, by optuna: its tree-structured Parzen estimator, asked and told."""

import logging
from collections.abc import Mapping
from typing import Any

from harness.bench.tuning.space import Point, SearchSpace, Setting
from harness.system.errors import InputError

RANDOM_FIRST = 8
"""Trials that are drawn at random, before there is enough to learn from."""
MISSING = "harness tune: optuna is not installed: pip install 'attention-harness[tune]'"


def require_optuna() -> None:
    """Raise `InputError` that says what to install where optuna is missing."""
    try:
        import optuna  # noqa: F401
    except ImportError as error:
        raise InputError(MISSING) from error


class Sampler:
    """A study of one search: proposes points and learns what became of them."""

    def __init__(self, space: SearchSpace, seed: int) -> None:
        """Begin a study; raises `InputError` where optuna is missing."""
        require_optuna()
        import optuna

        optuna.logging.set_verbosity(logging.WARNING)
        self._settings = space.settings
        sampler = optuna.samplers.TPESampler(
            seed=seed, n_startup_trials=RANDOM_FIRST, multivariate=True, constant_liar=True
        )
        self._study = optuna.create_study(sampler=sampler)
        self._distributions = {setting.name: _distribution(setting) for setting in space.settings}
        self._asked: dict[int, Any] = {}

    def ask(self) -> tuple[int, Point]:
        """Return a point to try, and the number by which its outcome is told."""
        trial = self._study.ask(self._distributions)
        self._asked[trial.number] = trial
        return trial.number, {
            setting.name: setting.values[trial.params[setting.name]] for setting in self._settings
        }

    def tell(self, number: int, cost: float | None) -> None:
        """Tell what a point costs, less is better; None for one that is refused or wrong."""
        import optuna

        trial = self._asked.pop(number)
        if cost is None:
            self._study.tell(trial, state=optuna.trial.TrialState.PRUNED)
        else:
            self._study.tell(trial, cost)

    def add(self, point: Point, cost: float | None) -> None:
        """Tell of a point that was not asked for."""
        import optuna

        state = optuna.trial.TrialState.PRUNED if cost is None else optuna.trial.TrialState.COMPLETE
        trial = optuna.trial.create_trial(
            state=state, params=self._places(point), distributions=self._distributions, value=cost
        )
        self._study.add_trial(trial)

    def _places(self, point: Point) -> Mapping[str, int]:
        return {setting.name: setting.values.index(point[setting.name]) for setting in self._settings}


def _distribution(setting: Setting) -> Any:
    """Return the distribution of the place of a value among those of its setting."""
    import optuna

    last = len(setting.values) - 1
    if setting.is_ordered:
        return optuna.distributions.IntDistribution(0, last)
    return optuna.distributions.CategoricalDistribution(range(last + 1))
