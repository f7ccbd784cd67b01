"""Where results come from: the experiment, the code, the packages and the machine of a run.

A manifest is made to be published with the results: it holds no user, host or home folder names.
"""

import contextlib
import getpass
import os
import platform
import re
import shlex
import subprocess
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field

from harness.artifact.binary import installed_version
from harness.artifact.code_digests import OWN_PACKAGE, code_digest, code_of_plugin
from harness.plugins import name_of, plugin_versions
from harness.problem.case import Case
from harness.results.format_version import FORMAT_VERSION
from harness.system.errors import HarnessError
from harness.system.machine.gpus import GpuDevice, devices
from harness.system.machine.system import Machine, device_name, machine
from harness.system.numbers import Duration, Share
from harness.system.printable import printable
from harness.system.processes.git import outside_of_repositories

if TYPE_CHECKING:
    from harness.experiment.experiment import Experiment

DISTRIBUTION = "attention-harness"
OPTIONAL_PACKAGES = ("torch", "triton", "cuda-bindings", "nvidia-cuda-nvcc")
GPU_TARGETS = ("cuda", "rocm", "xegpu")
GIT_TIMEOUT_S = 10

SHORTENED = "…"
"""Stands in a command for the folders of a path that could tell whose machine it was."""


class Part(BaseModel):
    """What a run was begun or gone on with: code, packages and command; the machine is the same."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    started: str
    """All times are UTC, ISO 8601."""
    command: str
    """The command line, absolute paths reduced to names, `…/a.toml`."""
    harness_version: str
    code_digest: str
    """Digest of the harness's sources (`harness.artifact.code_digests`)."""
    git_commit: Annotated[str, Field(pattern="^[0-9a-f]{7,64}$")] | None = None
    git_dirty: bool | None = None
    """Whether tracked files of the package differ from that commit.  Both are None when the harness runs from
    no git checkout."""
    python: str
    packages: dict[str, str]
    """Versions of the packages that the harness needs, and of optional ones where they are installed."""
    plugin_code: dict[str, str] = {}
    """Digest of each piece of code, besides the harness, that variants and targets of the cases are from, by
    its name (`harness.artifact.code_digests`): plugins are edited more often than they get another
    version."""
    limits: dict[str, float | None] = {}
    """The experiment's limits, by name: what a case that took too long or too much was allowed."""
    built: "Manifest | None" = None
    """Where the code was built, if it came here in a bundle."""


class Manifest(Part):
    """All that is needed to judge a run's results, or to repeat it."""

    format_version: int = FORMAT_VERSION
    experiment: str
    question: str
    source: str
    """Text of the experiment's TOML file."""
    source_name: str | None = None
    profile: str | None = None
    shard: Annotated[str, Field(pattern=r"^[1-9]\d{0,4}/[1-9]\d{0,4}$")] | None = None
    """The part of the experiment that was run, `2/8`; None for all of it, or what `--only` chose."""
    named_by: tuple[str, ...] = ()
    """What the command line of another run names the cases by: the experiment's file and its profile, or
    `--bundle` and its folder; absolute paths reduced as in the command."""
    finished: str | None = None
    """When the run last ended, complete or interrupted; None while it goes on, or after a kill."""
    resumed: tuple[str, ...] = ()
    """When it was taken up again."""
    parts: tuple[Part, ...] = ()
    """What it was taken up again with, each time."""
    planned: tuple[str, ...] | None = None
    """Ids of all cases that were asked for, when it began or was resumed; None before they are known."""
    left_out: int = 0
    """Cases of the experiment that were never asked for, because of `--only` or `--shard`."""
    machine: Machine
    device: str
    """The processor in short (`device_name`)."""
    gpus: tuple[GpuDevice, ...] = ()
    """The devices here of the GPU targets that cases are for."""
    bandwidths: dict[str, dict[str, float]] = {}
    """Measured bandwidths of this machine in bytes/s, by target with options, and by level of memory."""
    timed_share: Share | None = None
    """The part of the time of timings that was spent in samples, of the part of the run that ended last."""
    spent_s: dict[str, Duration] = {}
    """Seconds of each part of that, such as build, check, starts, samples and report."""
    unmeasured: dict[str, dict[str, str]] = {}
    """Why peaks or bandwidths could not be measured, by whose they are and `peak` or `bandwidths`."""

    @property
    def unmeasured_lines(self) -> tuple[str, ...]:
        """What is to be known of peaks and bandwidths that could not be measured, a line each."""
        return tuple(
            unmeasured_line(what, name, reason)
            for name, reasons in self.unmeasured.items()
            for what, reason in reasons.items()
        )

    @property
    def latest(self) -> Part:
        """What the run was last gone on with: rows of the plan are as its code makes them, kept ones too."""
        return self.parts[-1] if self.parts else self

    @property
    def processor(self) -> str:
        """The processor, `device`, and what part of it the run could use where that is less than all."""
        return ", ".join(filter(None, [self.device, self.machine.share]))

    @property
    def commands(self) -> tuple[str, ...]:
        """The command lines that made the run, in their order, each once."""
        return tuple(dict.fromkeys((self.command, *(part.command for part in self.parts))))


def collect(
    experiment_name: str,
    question: str,
    source_text: str,
    command: str | Sequence[str],
    source_name: str | Path | None = None,
) -> Manifest:
    """Describe a run that starts now."""
    commit, dirty = _git_state(Path(__file__).parents[1])
    return Manifest(
        experiment=experiment_name,
        question=printable(" ".join(question.split())),
        source=source_text,
        source_name=None if source_name is None else Path(source_name).name,
        command=anonymous_command(command),
        started=timestamp(),
        harness_version=installed_version(DISTRIBUTION) or "unknown",
        code_digest=code_digest(),
        git_commit=commit,
        git_dirty=dirty,
        python=f"{platform.python_implementation()} {platform.python_version()}",
        packages=package_versions(),
        machine=machine(),
        device=device_name(),
    )


def of_experiment(
    experiment: "Experiment",
    cases: Iterable[Case],
    command: Sequence[str],
    named_by: Sequence[str] = (),
    shard: str | None = None,
) -> Manifest:
    """Describe a run, or a build, of an experiment's cases that starts now."""
    manifest = collect(
        experiment.name, experiment.question, experiment.text, list(command), source_name=experiment.path
    )
    cases = list(cases)
    names = dict.fromkeys(name_of(case.target) for case in cases)
    gpus = [gpu for name in names if name in GPU_TARGETS for gpu in devices(name) or ()]
    words = tuple(_anonymous_word(word) for word in named_by or experiment.command_words)
    update = {
        "gpus": tuple(gpus),
        "profile": experiment.profile,
        "shard": shard,
        "named_by": words,
        "plugin_code": plugin_code(cases),
        "limits": experiment.limits.model_dump(),
    }
    return manifest.model_copy(update=update)


def plugin_code(cases: Iterable[Case]) -> dict[str, str]:
    """Return the digest of each piece of code that cases need besides the harness, by its name."""
    named = {("variant", case.variant) for case in cases} | {
        ("target", name_of(case.target)) for case in cases
    }
    code: dict[str, str] = {}
    for kind, name in named:
        with contextlib.suppress(HarnessError, OSError):
            code |= code_of_plugin(kind, name)
    return {name: code[name] for name in sorted(code.keys() - {OWN_PACKAGE})}


def unmeasured_line(what: str, name: str, reason: str) -> str:
    """Return what is to be known of a `peak`, or of `bandwidths`, that could not be measured."""
    return printable(f"the {what} of {name} could not be measured: {reason}")


def part_of(described: Manifest) -> Part:
    """Return what a description of a run that starts now says of a part of another one."""
    return Part(**{name: getattr(described, name) for name in Part.model_fields})


def timestamp() -> str:
    """Return the time now, in UTC, as ISO 8601 with seconds."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def package_versions() -> dict[str, str]:
    """Return the versions of the harness's core dependencies, of some optional packages, and of plugins."""
    try:
        requirements = requires(DISTRIBUTION) or []
    except PackageNotFoundError:
        requirements = []
    core = [re.split(r"[^\w.-]", text, maxsplit=1)[0] for text in requirements if "extra ==" not in text]
    versions = {name: installed_version(name) for name in (*core, *OPTIONAL_PACKAGES)}
    installed = {
        name: package_version for name, package_version in versions.items() if package_version is not None
    }
    return {**installed, **plugin_versions(DISTRIBUTION)}


def anonymous_command(command: str | Sequence[str]) -> str:
    """Return a command line without folders that could tell whose machine it was.

    The program and every path that leads outside the working folder keep only their last part, a path with a
    mark before it, `…/a.toml`; other words stay as they are.
    """
    words = shlex.split(command) if isinstance(command, str) else list(command)
    if not words:
        return ""
    program = Path(words[0])
    name = DISTRIBUTION.removeprefix("attention-") if program.name == "__main__.py" else program.name
    return shlex.join([name, *(_anonymous_word(word) for word in words[1:])])


def _anonymous_word(word: str) -> str:
    """Reduce a path, or that after `--option=`, to `…` and its last part unless it is plainly relative."""
    option, equals, value = word.rpartition("=")
    if "/" not in value:
        return word
    path = Path(value)
    with contextlib.suppress(FileNotFoundError):  # the current folder may have been deleted
        if path.is_absolute() and path.is_relative_to(Path.cwd()):
            path = path.relative_to(Path.cwd())
    private = {"..", "~", Path(os.path.expanduser("~")).name, _user_name(), platform.node()} - {""}
    if path.is_absolute() or value.startswith("~") or private.intersection(path.parts):
        path = Path(SHORTENED, path.name)
    return f"{option}{equals}{path}"


def _user_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""


def _git_state(package: Path) -> tuple[str | None, bool | None]:
    """Return commit and dirty flag of the harness's own checkout.

    What lies beside the package, or is not tracked, does not run: a user's experiments and results are no
    change of the code.

    An installed package may lie inside somebody else's repository (a virtual environment in a project's
    folder): only a repository whose root holds the package directly is the harness's.
    """
    root = _git(package, "rev-parse", "--show-toplevel")
    if root is None or Path(root) != package.parent.resolve():
        return None, None
    commit = _git(package, "rev-parse", "HEAD")
    changes = _git(package, "status", "--porcelain", "--untracked-files=no", "--", ".")
    return commit, None if changes is None else bool(changes)


def _git(folder: Path, *arguments: str) -> str | None:
    """Return what a git command prints, or None when there is no git, no repository or no answer."""
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            env=outside_of_repositories(),
            capture_output=True,
            text=True,
            timeout=GIT_TIMEOUT_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
