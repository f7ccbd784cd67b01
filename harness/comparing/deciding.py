"""The commands that decide what a comparison leaves ambiguous: they measure those cases again."""

import shlex
from collections.abc import Iterator, Sequence
from pathlib import PurePath

from harness.comparing.comparison import Comparison
from harness.measure.statistics import Verdict
from harness.printable import shell_line
from harness.results.manifest import Manifest

OF_PYTEST = "--harness"
"""The option of the pytest plugin that names an experiment."""
BEFORE_ARGUMENTS = ("--plain", "--resume", "--strict", OF_PYTEST)
"""Options of `harness run`, `harness check` and the pytest plugin whose next word is no other value."""


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
    found = comparison.cases[comparison.cases["case"].isin(cases)]["baseline_case_new"]
    return list(found.dropna().unique())


def _of_run(name: str, manifest: Manifest, only: str) -> str:
    command = shell_line(["harness", "run", *(manifest.named_by or _named_by(manifest)), "--only", only])
    commit = manifest.latest.git_commit
    if commit is None:
        return command
    if manifest.latest.git_dirty:
        return f"{command}  # with the files of the {name} run, which differed from {commit[:7]}"
    return f"{shell_line(['git', 'checkout', commit])} && {command}"


def _named_by(manifest: Manifest) -> list[str]:
    """Return what names the experiment of a run of an older version, and its profile.

    It is the path in the run's command line that ends in the file's name, or the bare name that stands there
    where an experiment may, no value of an option; else the file's name.
    """
    file = manifest.source_name or manifest.experiment
    try:
        words = shlex.split(manifest.command)
    except ValueError:  # not a command line
        words = []
    paths = [word for word in words if file.endswith(".toml") and PurePath(word).name == file]
    arguments = _arguments(words[2:] if words[:1] == ["harness"] else words[1:])
    bare = [word for word in arguments if f"{word}.toml" == file]
    named = next((word for word in [*paths, *bare] if not word.startswith("-")), file)
    return [named] if manifest.profile is None else [named, "--profile", manifest.profile]


def _arguments(words: Sequence[str]) -> Iterator[str]:
    """Yield the words of a command line that are neither options nor their values."""
    is_value = False
    for word in words:
        option, equals, value = word.partition("=")
        if not word.startswith("-"):
            if not is_value:
                yield word
            is_value = False
        elif option == OF_PYTEST and equals:
            yield value
        else:
            is_value = not equals and option not in BEFORE_ARGUMENTS
