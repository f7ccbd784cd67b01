"""Does a search find, from the worst tile sizes, parameters within 3 % of the best known?

    .venv/bin/python benchmarks/tuning.py [--problems 1,2] [--trials 12] [--budget 120]

For each of six problems all tile sizes of a grid are timed in turns, and the best few once more: the best and
the worst of them are *known*.  Then a search (`harness tune`) begins at the worst and builds at most so many
candidates, fewer than the grid has.  Its best one, though the default may win over it, and the best known
take turns at last.  Printed is the ratio of their times, 1 where they are equally fast, below where the
best known is faster, with its 95 % interval.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

from harness.bench.running.progress import Observer
from harness.bench.running.runner import run_experiment
from harness.bench.tuning.found import SearchSettings
from harness.bench.tuning.tuning_run import tune_experiment
from harness.experiment.experiment import Experiment
from harness.problem.case import Case
from harness.results.result import Result
from harness.system.status import Status

PROBLEMS: tuple[dict[str, Any], ...] = (
    {"seq": 512, "heads": 2, "head_dim": 64},
    {"seq": 512, "heads": 2, "head_dim": 64, "causal": True},
    {"seq": 1024, "heads": 1, "head_dim": 128},
    {"seq": 256, "heads": 4, "head_dim": 32},
    {"seq": 512, "heads": 2, "head_dim": 64, "dtype": "bf16"},
    {"seq_q": 64, "seq_kv": 2048, "heads": 2, "head_dim": 64},
)
GRID = {"tile_q": [8, 16, 32, 64, 128], "tile_kv": [16, 32, 64, 128]}
WITHIN = 0.03
BEST_FEW = 4


def experiment(problem: dict[str, Any], budget_s: float, **tiles: Any) -> Experiment:
    """Return `flash` on a problem with these tiles, all else as it is usual."""
    return Experiment.model_validate(
        {
            "name": "tiles",
            "question": "Which tiles are the fastest?",
            "variants": ["flash"],
            "baseline": "flash",
            "problem": problem,
            "variant": {"flash": {"kv_splits": 1, "grid_order": "row-major", **tiles}},
            "timing": {"budget_s": budget_s, "starts": 5},
        }
    )


def timed(plan: Experiment, cases: list[Case], folder: Path) -> dict[str, Result]:
    """Time cases in turns; return the rows of those that passed."""
    summary = run_experiment(
        plan, cases, out=folder, resume=False, timed=True, observer=Observer(), command=["tuning"], jobs=2
    )
    return {row.case: row for row in summary.results if row.status is Status.PASSED and row.speedup}


def tiles_of(row: Result | Case) -> str:
    """Return the tiles of a row or a case, in words."""
    return f"{row.params['tile_q']}×{row.params['tile_kv']}"


def compare(problem: dict[str, Any], arguments: argparse.Namespace, folder: Path) -> str:
    """Return what a search has found beside the best known, on a line."""
    plan = experiment(problem, 20.0, **GRID)
    cases = {case.id: case for case in plan.cases()}
    rows = sorted(timed(plan, list(cases.values()), folder).values(), key=lambda row: -(row.speedup or 0))
    worst, few = rows[-1], [cases[row.case] for row in rows[:BEST_FEW]]
    few_rows = timed(plan, few, folder).values()
    known = max(few_rows, key=lambda row: row.speedup or 0)
    begin = {name: worst.params[name] for name in GRID}
    settings = SearchSettings(budget_s=arguments.budget, most_trials=arguments.trials, begin_at=begin)
    tuned = tune_experiment(
        plan,
        plan.cases(),
        settings,
        out=folder,
        resume=False,
        observer=Observer(),
        command=["tuning"],
        jobs=2,
    )
    (found,) = tuned.found
    best = found.best
    if best.case is None:
        return "nothing was found"
    words = [
        next(iter(cases.values())).problem.describe(),
        f"worst {tiles_of(worst)} {(worst.speedup or 0) / (known.speedup or 1):.2f} of the best known",
        f"best known {tiles_of(known)}",
        f"found {tiles_of(best.case)} in {sum(found.counts.values())} trials of {len(cases)}",
    ]
    if best.case.id == known.case:
        return "; ".join([*words, "the same"])
    duel = timed(plan, [cases[known.case], cases[best.case.id]], folder)
    row = next(row for row in duel.values() if row.baseline_case != row.case)
    bounds = [row.speedup or 0, row.speedup_low or 0, row.speedup_high or float("inf")]
    if row.case == known.case:
        bounds = [1 / bounds[0], 1 / bounds[2], 1 / bounds[1]]
    verdict = "within" if bounds[0] >= 1 - WITHIN else "NOT within"
    return "; ".join(
        [*words, f"ratio {bounds[0]:.3f} [{bounds[1]:.3f}, {bounds[2]:.3f}], {verdict} {WITHIN:.0%}"]
    )


def main() -> None:
    """Print a line for each problem."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--problems", default="1,2,3,4,5,6")
    parser.add_argument("--trials", type=int, default=12)
    parser.add_argument("--budget", type=float, default=120.0)
    arguments = parser.parse_args()
    for number in map(int, arguments.problems.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            print(f"{number}. {compare(PROBLEMS[number - 1], arguments, Path(folder))}", flush=True)


if __name__ == "__main__":
    main()
