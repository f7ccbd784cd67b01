"""The pytest plugin: `pytest --harness EXPERIMENT` makes a test item of each case of an experiment.

Every pytest run where this package is installed loads this file.  It imports nothing: what runs cases is
loaded with the option only.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def pytest_addoption(parser: "pytest.Parser") -> None:
    """Declare the options of the plugin."""
    group = parser.getgroup("harness", "cases of an experiment as test items (attention-harness)")
    group.addoption(
        "--harness",
        action="append",
        default=[],
        metavar="EXPERIMENT",
        help="Check the cases of this experiment, a TOML file or the name of one; "
        "may be repeated. Without paths of tests nothing else is run.",
    )
    group.addoption(
        "--harness-only",
        action="append",
        default=[],
        metavar="KEY=VALUE[,VALUE...]",
        help="Only these cases, as 'harness check --only' takes them; repeat with other keys to narrow down.",
    )
    group.addoption("--harness-timed", action="store_true", help="Also time the cases that pass.")
    group.addoption(
        "--harness-strict",
        action="store_true",
        help="A case that is not checked fails, whatever the reason.",
    )
    group.addoption("--harness-out", default="results", metavar="DIR", help="Folder of all results.")
    group.addoption(
        "--harness-jobs",
        type=int,
        metavar="N",
        help="Builds and checks at a time; with pytest-xdist each of its workers has one.  "
        "[default: one per core]",
    )
    group.addoption(
        "--harness-summary",
        metavar="FILE",
        help="Append a summary in Markdown to this file; what $GITHUB_STEP_SUMMARY names gets it, too.",
    )


def pytest_configure(config: "pytest.Config") -> None:
    """Load what runs cases, if an experiment is given."""
    if config.getoption("harness"):
        from harness.pytest_plugin.plugin import register

        register(config)
