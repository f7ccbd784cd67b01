"""How long threads wait for a processor that others use, as Linux counts it; nothing where it does not."""

import contextlib
from pathlib import Path


def waits_of(process: int | str = "self") -> dict[str, float]:
    """Return the seconds that each thread of a process was ready to run and did not, by thread id."""
    waits = {}
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{process}/task").iterdir():
            with contextlib.suppress(OSError, IndexError):  # it has ended
                waits[thread.name] = int((thread / "schedstat").read_text().split()[1]) * 1e-9
    return waits


def longest_wait(before: dict[str, float], after: dict[str, float]) -> float:
    """Return the longest wait of one thread between two looks at the same process."""
    return max((seconds - before.get(thread, 0.0) for thread, seconds in after.items()), default=0.0)
