"""Tables, figures and reports from results; nothing here runs anything.

`write_report` and `print_tables` are loaded on first use: importing `harness.reporting` stays cheap.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.reporting.report import (
        ReportPaths,
        make_report,
        print_failures,
        print_tables,
        redraw,
        write_report,
    )

__all__ = ["ReportPaths", "make_report", "print_failures", "print_tables", "redraw", "write_report"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from harness.reporting import report

    return getattr(report, name)
