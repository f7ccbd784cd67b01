"""The command that shows the stages of a row's case: `harness ir` with its problem and settings."""

from __future__ import annotations

import math
from typing import Any

from harness.problem.fields import ProblemField, problem_fields
from harness.reporting.frames import is_missing
from harness.reporting.summary_columns import SAME_SCALE, SAME_UNLESS_SAID
from harness.results.frame import PARAMETER_PREFIX
from harness.system.printable import shell_line

FROM_SEQUENCES = ("batch", "seq_q", "seq_kv")
"""Fields that follow from the lengths of packed sequences."""


def ir_command(row: dict[str, Any], stage: str | None = None) -> str:
    """Return the command that builds a row's case, or finds it built, and shows its stages, or one."""
    words = ["harness", "ir", str(row["variant"]), "--target", str(row["target"])]
    for name, field in problem_fields().items():
        value = row.get(field.column_name)
        if is_missing(value) or _is_usual(name, field, value, row):
            continue
        option = f"--{name.replace('_', '-')}"
        words += [option] if value is True or field.kind is bool else [option, _written(value, field)]
    for name, value in _settings(row).items():
        words += ["--set", f"{name}={value}"]
    return shell_line([*words, *(["--stage", stage] if stage is not None else [])])


def _is_usual(name: str, field: ProblemField, value: Any, row: dict[str, Any]) -> bool:
    if name in FROM_SEQUENCES and not is_missing(row.get("cu_seqlens_q")):
        return True
    if name in SAME_UNLESS_SAID:
        return bool(value == row[SAME_UNLESS_SAID[name]])
    if name == "scale":
        return abs(float(value) * math.sqrt(row["head_dim"]) - 1) <= SAME_SCALE
    return bool(field.default is not None and value == field.default)


def _written(value: Any, field: ProblemField) -> str:
    if field.kind is tuple:
        return str(value).replace(field.separator, ",")
    return str(int(value)) if field.kind is int else str(value)


def _settings(row: dict[str, Any]) -> dict[str, str]:
    settings = {
        name.removeprefix(PARAMETER_PREFIX): _setting(value)
        for name, value in row.items()
        if name.startswith(PARAMETER_PREFIX) and not is_missing(value)
    }
    threads = row.get("threads")
    return settings if is_missing(threads) else {**settings, "threads": _setting(threads)}


def _setting(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))  # a column with gaps made it a float
    return str(value).lower() if str(value) in ("True", "False") else str(value)
