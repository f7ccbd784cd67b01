"""What processes can still take: the machine's memory, or what a control group's limit leaves."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from harness.system.machine import memory
from harness.system.machine.memory import available_bytes, memory_kills

FREE = 8_000


@pytest.fixture(autouse=True)
def _machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory.psutil, "virtual_memory", lambda: SimpleNamespace(available=FREE))


def group(folder: Path, line: str, inside: str, files: dict[str, str]) -> tuple[Path, Path]:
    """Return folders as /proc and /sys/fs/cgroup, of a process in one control group with these files."""
    (folder / "proc" / "self").mkdir(parents=True)
    (folder / "proc" / "self" / "cgroup").write_text(line)
    own = folder / "cgroup" / inside
    own.mkdir(parents=True)
    for name, text in files.items():
        (own / name).write_text(text)
    return folder / "proc", folder / "cgroup"


@pytest.mark.parametrize(
    ("limit", "used", "expected"),
    [("5000\n", "3000\n", 2500), ("max\n", "3000\n", FREE), ("9\n", "900\n", 0)],
)
def test_a_limit_of_version_2_leaves_what_is_not_used_or_a_cache(
    limit: str, used: str, expected: int, tmp_path: Path
) -> None:
    files = {"memory.max": limit, "memory.current": used, "memory.stat": "anon 9\ninactive_file 500\n"}
    assert available_bytes(*group(tmp_path, "0::/job\n", "job", files)) == expected


def test_a_limit_of_version_1(tmp_path: Path) -> None:
    files = {
        "memory.limit_in_bytes": "5000\n",
        "memory.usage_in_bytes": "4000\n",
        "memory.stat": "inactive_file 1\ntotal_inactive_file 100\n",
    }
    assert available_bytes(*group(tmp_path, "4:memory:/job\n", "memory/job", files)) == 1100


def test_without_control_groups_it_is_what_the_machine_has_free(tmp_path: Path) -> None:
    assert available_bytes(tmp_path, tmp_path) == FREE


@pytest.mark.parametrize(
    ("group", "file", "content", "kills"),
    [
        ("0::/user/job", "user/job/memory.events", "low 0\noom 1\noom_kill 2\noom_group_kill 7\n", 2),
        ("0::/outside/of/here", "memory.events", "oom_kill 4\n", 4),
        ("5:cpu:/a\n4:memory:/job", "memory/job/memory.oom_control", "under_oom 0\noom_kill 3\n", 3),
        ("0::/no/such", "elsewhere", "oom_kill 9\n", 11),
    ],
)
def test_the_nearest_count_is_taken(tmp_path: Path, group: str, file: str, content: str, kills: int) -> None:
    (tmp_path / "proc" / "self").mkdir(parents=True)
    (tmp_path / "proc" / "self" / "cgroup").write_text(f"{group}\n")
    (tmp_path / "proc" / "vmstat").write_text("pgfault 5\noom_kill 11\n")
    (tmp_path / "groups" / file).parent.mkdir(parents=True)
    (tmp_path / "groups" / file).write_text(content)
    assert memory_kills(tmp_path / "proc", tmp_path / "groups") == kills


def test_where_nothing_is_counted_nothing_is_known(tmp_path: Path) -> None:
    assert memory_kills(tmp_path, tmp_path) is None
