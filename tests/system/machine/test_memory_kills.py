"""The kernel's count of processes that it killed for memory."""

from pathlib import Path

import pytest

from harness.system.machine.memory_kills import memory_kills


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
