"""The machine that this process runs on: processor, caches, vector extensions, memory, system.

What cannot be read is None or left out, never guessed.
"""

import functools
import os
import platform
import re
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from harness.system.validation import FrozenModel

VECTOR_EXTENSIONS = (
    *("sse4_2", "avx", "f16c", "fma", "avx2", "avx_vnni", "avx_ne_convert"),
    *("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx512_vnni", "avx512_bf16", "avx512_fp16"),
    *("amx_tile", "amx_bf16", "amx_int8", "amx_fp16"),
    *("asimd", "asimdhp", "asimddp", "asimdfhm", "bf16", "i8mm", "sve", "sve2", "svebf16", "sme", "sme2"),
)
"""Processor flags that decide how fast attention can be, in the kernel's spelling."""

WIDEST_FIRST = ("avx512f", "avx2", "avx", "sve2", "sve", "asimd", "sse4_2")
PROC_CPUINFO = Path("/proc/cpuinfo")
CPU_FOLDER = Path("/sys/devices/system/cpu")
CGROUPS = Path("/sys/fs/cgroup")
OWN_CGROUPS = Path("/proc/self/cgroup")
SYSTEM_VENDOR = Path("/sys/class/dmi/id/sys_vendor")


@dataclass(frozen=True)
class Processor:
    """What the processor says of itself."""

    brand: str
    family: int | None = None
    model: int | None = None
    flags: frozenset[str] = field(default_factory=frozenset)


class Machine(FrozenModel):
    """The hardware and system that a run was made on."""

    cpu: str
    """Brand as the processor gives it."""
    cpu_family: int | None
    cpu_model: int | None
    architecture: str
    cores_physical: int | None
    cores_logical: int | None
    cores_usable: int
    """Logical processors that this process may run on."""
    cpu_quota: float | None
    """Processors' worth of time that the process, or its container, may use; None without a limit."""
    vector_extensions: tuple[str, ...]
    caches: dict[str, int]
    """Bytes of one cache of each kind (`L1d`, `L1i`, `L2`, `L3`) as the first processor sees it."""
    memory_bytes: int
    system: str
    kernel: str
    frequency_governor: str | None
    boost: bool | None
    hypervisor: str | None
    """Vendor of the virtual machine, or `yes` when it does not tell; None on bare metal."""

    @property
    def share(self) -> str:
        """What part of its processors a run may use, `1 of 2 processors`; empty where it is all of them."""
        total, quota = self.cores_logical or self.cores_usable, self.cpu_quota
        words = [] if self.cores_usable >= total else [f"{self.cores_usable} of {total} processors"]
        words += [] if quota is None else [f"the time of {quota:g}"]
        return ", ".join(words)


@functools.cache
def machine() -> Machine:
    """Describe this machine; read once per process."""
    cpu = processor()
    return Machine(
        cpu=cpu.brand,
        cpu_family=cpu.family,
        cpu_model=cpu.model,
        architecture=platform.machine(),
        cores_physical=psutil.cpu_count(logical=False),
        cores_logical=psutil.cpu_count(logical=True),
        cores_usable=usable_cores(),
        cpu_quota=cpu_quota(),
        vector_extensions=tuple(name for name in VECTOR_EXTENSIONS if name in cpu.flags),
        caches=cache_sizes(),
        memory_bytes=psutil.virtual_memory().total,
        system=_system_name(),
        kernel=platform.release(),
        frequency_governor=_read(CPU_FOLDER / "cpu0/cpufreq/scaling_governor"),
        boost=_boost(),
        hypervisor=_hypervisor(cpu),
    )


@functools.cache
def device_name() -> str:
    """Return the processor in one short phrase for tables and keys, `AMD EPYC 7763 (avx2, 64 cores)`."""
    count = psutil.cpu_count(logical=False) or psutil.cpu_count(logical=True) or usable_cores()
    return describe_processor(processor(), count)


def describe_processor(cpu: Processor, cores: int) -> str:
    """Return `device_name`; a brand without a model number is completed by family and model."""
    brand = clean_brand(cpu.brand)
    details: list[str] = []
    if not re.search(r"\d", brand) and cpu.family is not None and cpu.model is not None:
        details.append(f"family {cpu.family} model {cpu.model}")
    widest = next((name for name in WIDEST_FIRST if name in cpu.flags), None)
    if widest is not None:
        details.append("avx512" if widest == "avx512f" else widest)
    details.append(f"{cores} core{'' if cores == 1 else 's'}")
    return f"{brand} ({', '.join(details)})"


def clean_brand(brand: str) -> str:
    """Return a processor's brand without trademarks, core counts, clock rates and filler words."""
    brand = re.sub(r"\((?:R|TM|C)\)|[®™]", " ", brand, flags=re.IGNORECASE)
    brand = re.sub(r"@.*$", " ", brand)
    brand = re.sub(r"\b(?:\d+|\w+)-Core\b", " ", brand, flags=re.IGNORECASE)
    brand = re.sub(r"\b(?:CPU|Processor|with Radeon.*)\b", " ", brand, flags=re.IGNORECASE)
    return " ".join(brand.split()) or platform.machine() or "unknown processor"


@functools.cache
def processor() -> Processor:
    """Return what the processor says of itself; read once per process."""
    return parse_proc_cpuinfo(_read(PROC_CPUINFO) or "")


def parse_proc_cpuinfo(text: str) -> Processor:
    """Return the first processor of Linux's `/proc/cpuinfo`, which names a brand on x86 only."""
    entries: dict[str, str] = {}
    for line in text.split("\n\n", 1)[0].splitlines():
        name, _, value = line.partition(":")
        entries[name.strip()] = value.strip()
    return Processor(
        brand=entries.get("model name") or platform.machine(),
        family=_integer(entries.get("cpu family")),
        model=_integer(entries.get("model")),
        flags=frozenset((entries.get("flags") or entries.get("Features") or "").split()),
    )


def usable_cores() -> int:
    """Return how many logical processors this process may run on."""
    return len(os.sched_getaffinity(0))


def cpu_quota() -> float | None:
    """Return the limit in processors' worth of time: the least of all groups (cgroup v2) of this process."""
    lines = (_read(OWN_CGROUPS) or "").splitlines()
    groups = [Path(line.removeprefix("0::").lstrip("/")) for line in lines if line.startswith("0::")]
    folders = dict.fromkeys(folder for group in [*groups, Path()] for folder in [group, *group.parents])
    limits = [_quota(_read(CGROUPS / folder / "cpu.max")) for folder in folders]
    return min((limit for limit in limits if limit is not None), default=None)


def _quota(text: str | None) -> float | None:
    """Return what a control group's `cpu.max` allows, `150000 100000`; None for `max`."""
    words = (text or "max").split()
    return int(words[0]) / int(words[1]) if len(words) == 2 and words[0] != "max" else None


def cache_sizes() -> dict[str, int]:
    """Return the bytes of each cache that the first processor sees, by name, where Linux tells."""
    letters = {"Data": "d", "Instruction": "i", "Unified": ""}
    units = {"K": 2**10, "M": 2**20, "G": 2**30}
    sizes: dict[str, int] = {}
    for folder in sorted((CPU_FOLDER / "cpu0/cache").glob("index*")):
        level, kind, size = (_read(folder / name) for name in ("level", "type", "size"))
        if level and kind in letters and size and size[-1] in units:
            sizes[f"L{level}{letters[kind]}"] = int(size[:-1]) * units[size[-1]]
    return sizes


def _boost() -> bool | None:
    """Return whether the processor may clock above its base rate, or None where that cannot be read."""
    boost = _read(CPU_FOLDER / "cpufreq/boost")
    if boost is not None:
        return boost == "1"
    no_turbo = _read(CPU_FOLDER / "intel_pstate/no_turbo")
    return None if no_turbo is None else no_turbo == "0"


def _hypervisor(cpu: Processor) -> str | None:
    if "hypervisor" not in cpu.flags:
        return None
    return _read(SYSTEM_VENDOR) or "yes"


def _system_name() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return platform.system()


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip() or None
    except OSError:
        return None


def _integer(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdigit() else None
