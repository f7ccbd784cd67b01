"""The commands that decide what a comparison leaves ambiguous: they measure those cases again."""

from collections.abc import Sequence

from harness.bench.comparing.comparison import Comparison
from harness.results.manifest import Manifest
from harness.results.statistics import Verdict
from harness.system.printable import shell_line


def deciding_commands(comparison: Comparison, most: int) -> list[str]:
    """Return the commands that measure at most so many ambiguous cases again; none where there are none.

    Of runs in turn it is the command that made them.  Else each run has its own, with its code: it checks the
    run's last commit out, or says that files differed from that.
    """
    cases = list(comparison.of_verdict(Verdict.AMBIGUOUS, most)["case"])
    if not cases:
        return []
    only = f"case={','.join(dict.fromkeys([*cases, *_baselines(comparison, cases)]))}"
    if comparison.made_by:
        return [shell_line([*comparison.made_by, "--only", only])]
    return [_of_run(name, run.manifest, only) for name, run in comparison.runs.items()]


def _baselines(comparison: Comparison, cases: Sequence[str]) -> list[str]:
    """Return the baselines that cases are timed with: their own turns are needed again."""
    baselines = comparison.cases[comparison.cases["case"].isin(cases)]["baseline_case_new"]
    return list(baselines.dropna().unique())


def _of_run(name: str, manifest: Manifest, only: str) -> str:
    command = shell_line(["harness", "run", *manifest.named_by, "--only", only])
    commit = manifest.latest.git_commit
    if commit is None:
        return command
    if manifest.latest.git_dirty:
        return f"{command}  # with the files of the {name} run, which differed from {commit[:7]}"
    return f"{shell_line(['git', 'checkout', commit])} && {command}"
