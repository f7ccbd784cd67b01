"""What `harness doctor` finds: which parts are installed, what works on this machine, what is missing."""

import os
import platform
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, requires, version
from itertools import groupby
from pathlib import Path

import psutil
from packaging.requirements import Requirement
from rich.console import Console
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text

from harness import plugins
from harness.artifact.cache import ArtifactCache
from harness.bench.building.support import own_targets
from harness.problem.attention_problem import AttentionProblem
from harness.system.errors import HarnessError, one_line
from harness.system.machine.cores import available_cores
from harness.system.machine.system import machine
from harness.system.printable import install_line
from harness.system.storage.cache_folder import ADVICE, CACHE_DIR_VARIABLE
from harness.system.storage.folder_store import FolderStore

DISTRIBUTION = "attention-harness"
USER_EXTRAS = ("baselines", "triton", "device")
"""Extras that add variants and devices; what `cuda` adds is told with its target, `dev` is for developers."""

EVERYDAY_PROBLEM = AttentionProblem(heads=1, seq_q=64, head_dim=64)
"""What every variant can do if its packages are there."""
BUSY_LOAD = 0.5
"""Processes that run on average for each core, from which on times will be noisy."""


class State(StrEnum):
    """How a finding is to be taken."""

    OK = "ok"
    NOTE = "note"
    """A fact, neither good nor bad."""
    ABSENT = "absent"
    """Something optional is not here; the detail says what to install or connect."""
    FAULTY = "faulty"
    """A plugin that cannot be imported, or whose own code fails; the detail says why."""
    WARNING = "warning"
    """Works, but not as it was tested."""
    BROKEN = "broken"
    """The harness cannot work without it."""


STYLES = {State.OK: "green", State.NOTE: "", State.FAULTY: "red", State.BROKEN: "red"}


@dataclass(frozen=True)
class Finding:
    """One line of the doctor's report."""

    section: str
    name: str
    state: State
    detail: str


def diagnose() -> list[Finding]:
    """Examine this installation and this machine; every section answers, even where something is broken."""
    return [
        *package_findings(requires(DISTRIBUTION) or []),
        *target_findings(),
        *variant_findings(),
        *machine_findings(),
        cache_finding(),
    ]


def is_healthy(findings: Iterable[Finding]) -> bool:
    """Return whether nothing is broken; what is optional may be absent, and plugins faulty."""
    return all(finding.state is not State.BROKEN for finding in findings)


def package_findings(requirements: Sequence[str]) -> list[Finding]:
    """Return each core package, and each package of an extra for users, with its version against the pin."""
    findings = []
    for requirement in map(Requirement, requirements):
        marker = requirement.marker
        extras = [name for name in USER_EXTRAS if marker is not None and marker.evaluate({"extra": name})]
        if marker is None or extras:
            findings.append(_package_finding(requirement, next(iter(extras), None)))
    return findings


def _package_finding(requirement: Requirement, extra: str | None) -> Finding:
    name, pin = requirement.name, requirement.specifier
    try:
        installed = version(name)
    except PackageNotFoundError:
        state = State.BROKEN if extra is None else State.ABSENT
        package = f"{name}{pin}" if extra is None else f"{DISTRIBUTION}[{extra}]"
        return Finding("packages", name, state, f"not installed: {install_line(package)}")
    if installed not in pin:
        return Finding("packages", name, State.WARNING, f"{installed}; tested with {pin}")
    return Finding("packages", name, State.OK, installed)


def target_findings() -> list[Finding]:
    """Return what each target's plugin says it can do here: build, run, emulate; it must know its chips."""
    findings = []
    for name in plugins.names("target"):
        try:
            plugins.chips(name)
            findings += [
                Finding(
                    section="targets",
                    name=f"{name} {capability.action}",
                    state=State.OK if capability.available else State.ABSENT,
                    detail=capability.detail,
                )
                for capability in plugins.target(name).capabilities()
            ]
        except Exception as error:  # a plugin's own code
            findings.append(Finding("targets", name, State.FAULTY, one_line(error)))
    return findings


def variant_findings() -> list[Finding]:
    """Return whether each variant can be loaded and has the packages that its build needs."""
    targets = own_targets()
    findings = []
    for name in plugins.names("variant"):
        try:
            findings.append(_variant_finding(name, targets))
        except Exception as error:  # a plugin's own code
            findings.append(Finding("variants", name, State.FAULTY, one_line(error)))
    return findings


def _variant_finding(name: str, targets: Sequence[str]) -> Finding:
    variant = plugins.variant(name)
    reasons = {target: variant.supports(EVERYDAY_PROBLEM, target) for target in targets}
    missing = [reason for reason in reasons.values() if reason and reason.startswith("install ")]
    if missing:
        builds = [target for target, reason in reasons.items() if reason is None]
        rest = f"; without it only built, for {', '.join(builds)}" if builds else ""
        return Finding("variants", name, State.ABSENT, missing[0] + rest)
    tools = {} if all(reasons.values()) else variant.tool_versions()
    built_with = ", ".join(f"{tool} {version}" for tool, version in tools.items())
    detail = variant.summary + (f" [{built_with}]" if built_with else "")
    return Finding("variants", name, State.OK, detail)


def machine_findings() -> list[Finding]:
    """Return the facts of this machine that decide about times."""
    here, cores, load = machine(), available_cores(), os.getloadavg()[0]
    memory = psutil.virtual_memory()
    is_busy = load > BUSY_LOAD * cores
    facts = {
        "python": f"{platform.python_version()} ({platform.python_implementation()})",
        "processor": here.cpu,
        "cores": f"{cores} usable, {here.cores_physical} physical, {here.cores_logical} logical",
        "vector extensions": ", ".join(here.vector_extensions) or "none known",
        "memory": f"{decimal(memory.total)}, {decimal(memory.available)} available",
        "system": f"{here.system}, kernel {here.kernel}" + (", virtual machine" if here.hypervisor else ""),
        "load": f"{load:.2f} processes on average in the last minute"
        + ("; times will be noisy" if is_busy else ""),
    }
    return [
        Finding("machine", name, State.WARNING if name == "load" and is_busy else State.NOTE, detail)
        for name, detail in facts.items()
    ]


def cache_finding(root: Path | None = None) -> Finding:
    """Return where built artifacts are kept and how much room they take."""
    try:
        root = ArtifactCache(root).root
        with FolderStore(root, ADVICE).private_folder():
            pass
    except HarnessError as error:
        # what a cache holds already is found in one that cannot be written
        state = State.WARNING if root is not None and root.is_dir() else State.BROKEN
        return Finding("cache", "artifacts", state, str(error))
    sizes = [path.stat().st_size for path in root.rglob("*") if path.is_file()]
    detail = f"{root} ({decimal(sum(sizes))} in {len(sizes)} files); set {CACHE_DIR_VARIABLE} to move it"
    return Finding("cache", "artifacts", State.NOTE, detail)


def print_findings(findings: Sequence[Finding]) -> None:
    """Print the findings as a table with a section for each kind."""
    table = Table(box=None, pad_edge=False)
    for heading in ("", "what", "state", "detail"):
        table.add_column(heading, overflow="fold")
    for section, group in groupby(findings, key=lambda finding: finding.section):
        title = Text(section, style="bold")
        for finding in group:
            state = Text(finding.state.value, style=STYLES.get(finding.state, "yellow"))
            table.add_row(title, Text(finding.name), state, Text(finding.detail))
            title = Text("")
        table.add_row()
    Console().print(table)
