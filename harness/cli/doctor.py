"""What `harness doctor` finds: which parts are installed, what works on this machine, what is missing."""

import os
import platform
import re
import sys
from collections.abc import Iterable, Sequence
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

import psutil
from pydantic import BaseModel, ConfigDict, TypeAdapter

from harness import plugins
from harness.artifact.cache import ADVICE, CACHE_DIR_VARIABLE, ArtifactCache
from harness.problem.attention_problem import AttentionProblem
from harness.system.errors import HarnessError, UnsupportedError, message_of, one_line
from harness.system.machine.cores import available_cores
from harness.system.machine.system import machine
from harness.system.printable import install_line
from harness.system.storage.folder_store import FolderStore
from harness.targets.base import Capability

DISTRIBUTION = "attention-harness"
OLDEST_PYTHON = (3, 11)
USER_EXTRAS = ("baselines", "triton", "device")
"""Extras that add variants and devices; what `cuda` adds is told with its target, `dev` is for developers."""

PIN = re.compile(
    r"""(?P<name>[\w.-]+)==(?P<version>[^\s;]+)(?:\s*;\s*extra\s*==\s*["'](?P<extra>[\w-]+)["'])?"""
)
"""A requirement as this distribution states it: exact, perhaps for an extra."""

EVERYDAY_PROBLEM = AttentionProblem(heads=1, seq_q=64, head_dim=64)
"""What every variant can do if its packages are there."""


CAPABILITIES = TypeAdapter(list[Capability])
REASONS = TypeAdapter(list[str | None])
"""What variants answer for each target: why they cannot do a problem."""


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


class Finding(BaseModel):
    """One line of the doctor's report."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    section: str
    name: str
    state: State
    detail: str


def diagnose() -> list[Finding]:
    """Examine this installation and this machine; every section answers, even where something is broken."""
    return [
        *python_findings(),
        *package_findings(),
        *target_findings(),
        *variant_findings(),
        *machine_findings(),
        *cache_findings(),
    ]


def is_healthy(findings: Iterable[Finding]) -> bool:
    """Return whether nothing is broken; what is optional may be absent, and plugins faulty."""
    return all(finding.state is not State.BROKEN for finding in findings)


def python_findings() -> list[Finding]:
    """Return the Python version and whether it is recent enough."""
    recent = sys.version_info >= OLDEST_PYTHON
    detail = f"{platform.python_version()} ({platform.python_implementation()})"
    if not recent:
        detail += f"; expected {'.'.join(map(str, OLDEST_PYTHON))} or later"
    return [Finding(section="python", name="python", state=_state(recent), detail=detail)]


def package_findings(requirements: Sequence[str] | None = None) -> list[Finding]:
    """Return each core package, and each package of an extra, with its version against the pin.

    `requirements` are the distribution's own, in the form of its metadata, if not given.
    """
    if requirements is None:
        try:
            requirements = requires(DISTRIBUTION) or []
        except PackageNotFoundError:
            return [_package(DISTRIBUTION, State.BROKEN, f"not installed: {install_line('-e', '.')}")]
    pins = [pin for text in requirements if (pin := PIN.fullmatch(text.strip())) is not None]
    return [
        _package_finding(pin["name"], pin["version"], pin["extra"])
        for pin in pins
        if pin["extra"] is None or pin["extra"] in USER_EXTRAS
    ]


def _package_finding(name: str, pinned: str, extra: str | None) -> Finding:
    installed: str | None
    try:
        installed = version(name)
    except (TypeError, KeyError):  # its files are damaged
        installed = None
    except PackageNotFoundError:
        if extra is not None:
            return _package(name, State.ABSENT, f"not installed: {install_line(f'{DISTRIBUTION}[{extra}]')}")
        return _package(name, State.BROKEN, f"not installed: {install_line(f'{name}=={pinned}')}")
    if installed is None:
        again = install_line("--force-reinstall", f"{name}=={pinned}")
        return _package(name, State.BROKEN, f"its version cannot be read: {again}")
    if installed.partition("+")[0] != pinned:
        return _package(name, State.WARNING, f"{installed}; tested with {pinned}")
    return _package(name, State.OK, installed)


def _package(name: str, state: State, detail: str) -> Finding:
    return Finding(section="packages", name=name, state=state, detail=detail)


def target_findings() -> list[Finding]:
    """Return what each target's plugin says it can do here: build, run, emulate; it must know its chips."""
    findings = []
    for name in plugins.names("target"):
        try:
            capabilities = CAPABILITIES.validate_python(plugins.target(name).capabilities())
            plugins.chips(name)
        except Exception as error:  # a plugin's own code
            findings.append(_failed("targets", name, error))
            continue
        findings += [
            Finding(
                section="targets",
                name=f"{name} {capability.action}",
                state=_state(capability.available, otherwise=State.ABSENT),
                detail=capability.detail,
            )
            for capability in capabilities
        ]
    return findings


def variant_findings() -> list[Finding]:
    """Return whether each variant can be loaded and has the packages that its build needs."""
    targets = [name for name in plugins.names("target") if _can_be_made(name)]
    return [_variant_finding(name, targets) for name in plugins.names("variant")]


def _can_be_made(target: str) -> bool:
    """Whether a target's plugin works at all; its own finding says why one does not."""
    try:
        plugins.target(target)
    except Exception:  # a plugin's own code
        return False
    return True


def _variant_finding(name: str, targets: Sequence[str]) -> Finding:
    try:
        variant = plugins.variant(name)
        reasons = REASONS.validate_python([variant.supports(EVERYDAY_PROBLEM, name) for name in targets])
        tools = {} if all(reasons) else dict(variant.tool_versions())
        built_with = ", ".join(f"{tool} {version}" for tool, version in tools.items())
        detail = variant.summary + (f" [{built_with}]" if built_with else "")
    except Exception as error:  # a plugin's own code
        return _failed("variants", name, error)
    missing = [reason for reason in reasons if reason is not None and reason.startswith("install ")]
    if missing:
        builds = [target for target, reason in zip(targets, reasons, strict=True) if reason is None]
        rest = f"; without it only built, for {', '.join(builds)}" if builds else ""
        return Finding(section="variants", name=name, state=State.ABSENT, detail=missing[0] + rest)
    return Finding(section="variants", name=name, state=State.OK, detail=detail)


def machine_findings() -> list[Finding]:
    """Return the facts of this machine that decide about times."""
    here = machine()
    memory = psutil.virtual_memory()
    load = os.getloadavg()[0]
    facts = {
        "processor": here.cpu,
        "cores": f"{available_cores()} usable, {here.cores_physical or '?'} physical, "
        f"{here.cores_logical or '?'} logical",
        "vector extensions": ", ".join(here.vector_extensions) or "none known",
        "memory": f"{_size(memory.total)}, {_size(memory.available)} available",
        "system": f"{here.system}, kernel {here.kernel}" + (", virtual machine" if here.hypervisor else ""),
    }
    findings = [
        Finding(section="machine", name=name, state=State.NOTE, detail=detail)
        for name, detail in facts.items()
    ]
    is_busy = load > 0.5 * available_cores()
    detail = f"{load:.2f} processes on average in the last minute" + (
        "; times will be noisy" if is_busy else ""
    )
    state = State.WARNING if is_busy else State.NOTE
    return [*findings, Finding(section="machine", name="load", state=state, detail=detail)]


def cache_findings(root: Path | None = None) -> list[Finding]:
    """Return where built artifacts are kept and how much room they take."""
    try:
        root = ArtifactCache(root).root
    except HarnessError as error:
        return [Finding(section="cache", name="artifacts", state=State.BROKEN, detail=str(error))]
    files = [path for path in root.rglob("*") if path.is_file()] if root.is_dir() else []
    size = sum(_file_size(path) for path in files)
    detail = f"{root} ({_size(size)} in {len(files)} files); set {CACHE_DIR_VARIABLE} to move it"
    try:
        with FolderStore(root, ADVICE).private_folder():
            pass
    except HarnessError as error:
        # what a cache holds already is found in one that cannot be written
        state = State.WARNING if root.is_dir() else State.BROKEN
        return [Finding(section="cache", name="artifacts", state=state, detail=str(error))]
    return [Finding(section="cache", name="artifacts", state=State.NOTE, detail=detail)]


def print_findings(findings: Sequence[Finding]) -> None:
    """Print the findings as a table with a section for each kind."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    styles = {
        State.OK: "green",
        State.NOTE: "",
        State.ABSENT: "yellow",
        State.FAULTY: "red",
        State.WARNING: "yellow",
        State.BROKEN: "red",
    }
    table = Table(box=None, pad_edge=False)
    for heading in ("", "what", "state", "detail"):
        table.add_column(heading, overflow="fold")
    section = ""
    for finding in findings:
        if section and finding.section != section:
            table.add_row()
        shown = finding.section if finding.section != section else ""
        section = finding.section
        state = Text(finding.state.value, style=styles[finding.state])
        table.add_row(Text(shown, style="bold"), Text(finding.name), state, Text(finding.detail))
    Console().print(table)


def _failed(section: str, name: str, error: BaseException) -> Finding:
    """Return what an error of a plugin means: a package that it asks for is absent, or it is faulty."""
    is_absent = isinstance(error, UnsupportedError | ImportError)
    detail = message_of(error) if isinstance(error, ImportError) else one_line(error)
    return Finding(
        section=section, name=name, state=State.ABSENT if is_absent else State.FAULTY, detail=detail
    )


def _state(is_good: bool, otherwise: State = State.BROKEN) -> State:
    return State.OK if is_good else otherwise


def _file_size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _size(count: int) -> str:
    """Return a number of bytes in the unit that suits it."""
    size = float(count)
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.3g} {unit}"
        size /= 1024
    return f"{size:.3g} GiB"
