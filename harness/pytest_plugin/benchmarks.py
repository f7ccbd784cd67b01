"""What `--harness-timed` asks of pytest-benchmark, whose items the timed cases are."""

from collections.abc import Iterable

import pytest

SKIPPED = "Skipping benchmark (--benchmark-skip active)."
"""What pytest-benchmark says of benchmarks that it skips."""

DISABLED = (
    "pytest-benchmark is disabled (--benchmark-disable, or pytest-xdist's --dist): "
    "it has no statistics of the times, which are in the run's folder"
)


def take_skip(config: pytest.Config) -> bool:
    """Return whether benchmarks are to be skipped, and let pytest-benchmark skip none itself.

    It would skip the timed cases, too, which somebody asked for by a stronger word: `--benchmark-skip`
    usually stands in a project's `addopts`.  Its plugin is configured after this one.
    """
    wants_skips = bool(config.option.benchmark_skip and not config.option.benchmark_only)
    config.option.benchmark_skip = False
    return wants_skips


def skip_benchmarks(items: Iterable[pytest.Item]) -> None:
    """Skip those of these items that are benchmarks, as pytest-benchmark does."""
    for item in items:
        if "benchmark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.skip(reason=SKIPPED))
