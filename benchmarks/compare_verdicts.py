"""Are verdicts of `harness compare` right: are runs of the same code the same, is a planted slowdown found?

    .venv/bin/python benchmarks/compare_verdicts.py [--pairs 10] [--budget 8] [--busy]

Pairs of runs of `flash`, a copy of it and a copy that is 5 % slower, at several sizes, one after the other.
In every pair the copy of the new run is compared with that of the old run; that their code is identical is
not told, only that of the baseline `flash` is.  Then the slowed copy stands for the copy in the new run.
With `--busy` another process keeps one core busy.
"""

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd

import harness
from harness.bench.comparing.comparison import compare_tables

EXPERIMENT = """
name = "compare_verdicts"
question = "Are two runs of the same code the same?"
variants = ["flash", "twin", "slowed-twin"]
targets = ["cpu"]
baseline = "flash"

[problem]
dtype = "f32"
heads = 2
head_dim = 64
seq = [128, 256, 384]

[target.cpu]
threads = 1

[variant.slowed-twin]
by = 0.05

[timing]
interval = 0.001
budget_s = {budget}
starts = 6
max_rounds = 5000
"""


def measured(folder: Path, budget: float) -> pd.DataFrame:
    """Run the experiment once more and return its rows."""
    file = folder / "compare_verdicts.toml"
    file.write_text(EXPERIMENT.format(budget=budget))
    return harness.run(file, out=folder / "results")


def copies(rows: pd.DataFrame, variant: str) -> pd.DataFrame:
    """Return the baseline and one copy, whose cases are named by their problems and whose code is unknown."""
    chosen = rows[rows["variant"].isin(["flash", variant])].copy()
    is_copy = chosen["variant"] == variant
    names = chosen["head_dim"].astype(str) + "x" + chosen["seq_q"].astype(str)
    chosen.loc[is_copy, "case"] = names[is_copy]
    chosen.loc[is_copy, "binary_digest"] = None
    return chosen


def judged(old: pd.DataFrame, new: pd.DataFrame) -> list[str]:
    """Return the verdicts of the copies."""
    cases, _ = compare_tables(old, new)
    return list(cases[cases["how"] != "identical"]["verdict"])


@contextmanager
def other_load(is_wanted: bool) -> Iterator[None]:
    """Keep a core busy meanwhile, if that is wanted."""
    if not is_wanted:
        yield
        return
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        process.kill()


def main() -> None:
    """Print the verdicts of all pairs, and what they come to."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--budget", type=float, default=8.0, help="seconds of timing for each problem")
    parser.add_argument("--busy", action="store_true")
    arguments = parser.parse_args()
    same, slowed = Counter[str](), Counter[str]()
    with tempfile.TemporaryDirectory() as name, other_load(arguments.busy):
        for number in range(arguments.pairs):
            old, new = (measured(Path(name), arguments.budget) for _ in range(2))
            found = judged(copies(old, "twin"), copies(new, "twin"))
            planted = judged(copies(old, "twin"), copies(new, "slowed-twin"))
            same.update(found)
            slowed.update(planted)
            print(f"pair {number + 1}: same code {dict(Counter(found))}, 5 % slower {dict(Counter(planted))}")
    right = same["same"] + same["ambiguous"]
    print(f"same code: same or ambiguous in {right} of {same.total()} cases, slower in {same['slower']}")
    print(f"5 % slower: found in {slowed['slower']} of {slowed.total()} cases")


if __name__ == "__main__":
    main()
