"""All commands of `harness`, in the order in which the help lists them: each module adds its own."""

# ruff: isort: off
from harness.cli import run_commands  # noqa: F401
from harness.cli import tune  # noqa: F401
from harness.cli import report_commands  # noqa: F401
from harness.cli import show_commands  # noqa: F401

# ruff: isort: on
from harness.cli.app import app

__all__ = ["app"]
