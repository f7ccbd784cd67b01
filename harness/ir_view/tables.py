"""The tables of `harness ir`."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from rich.table import Column, Table

from harness.codegen.costs.costs import Costs, NotCountable, Traffic
from harness.ir_view.stage_output import StageOutput

SHOWN = 4

MISSING = "–"

COST_COLUMNS: dict[str, Callable[[Costs], float | None]] = {
    "matmul": lambda costs: costs.matmul,
    "exp": lambda costs: costs.exp,
    "other": lambda costs: costs.other,
    "of it fma": lambda costs: costs.fma,
    "main read": lambda costs: costs.main_memory.read,
    "main written": lambda costs: costs.main_memory.written,
    "scratch read": lambda costs: costs.scratch.read,
    "scratch written": lambda costs: costs.scratch.written,
    "FLOP/byte": lambda costs: costs.intensity,
}


def stage_table(stages: Sequence[StageOutput]) -> Table:
    """Return one row for each stage: duration, size, what it mostly consists of and what it changed."""
    table = Table("#", "stage", "ms", "lines", "most frequent operations", "against the stage before")
    for column in (0, 2, 3):
        _numbers(table.columns[column])
    table.columns[1].no_wrap = True
    for number, stage in enumerate(stages):
        previous = stages[number - 1] if number else None
        table.add_row(
            str(number + 1),
            stage.name,
            MISSING if stage.seconds is None else f"{1e3 * stage.seconds:.1f}",
            MISSING if stage.lines is None else str(stage.lines),
            frequent(stage.operations) if stage.text is not None else f"{len(stage.data):,} bytes",
            MISSING if previous is None else changes(stage.changes_from(previous)),
        )
    return table


def stage_operation_table(stage: StageOutput) -> Table:
    """Return how often each operation stands in a stage, the most frequent first."""
    table = Table("operation", "count")
    _numbers(table.columns[1])
    for name, number in sorted(stage.operations.items(), key=lambda item: (-item[1], item[0])):
        table.add_row(name, str(number))
    return table


def cost_table(costs_by_stage: Mapping[str, Costs | NotCountable]) -> Table:
    """Return what one call executes and moves at each stage, in exact numbers."""
    table = Table("stage", *COST_COLUMNS)
    _numbers(*table.columns[1:])
    table.columns[0].no_wrap = True
    for name, costs in costs_by_stage.items():
        values = [
            None if isinstance(costs, NotCountable) else value(costs) for value in COST_COLUMNS.values()
        ]
        table.add_row(name, *map(_exact, values))
    return table


def _exact(number: float | None) -> str:
    """Return `33,554,432`, or a ratio with three digits."""
    if number is None:
        return MISSING
    return f"{number:,}" if isinstance(number, int) else f"{number:.3g}"


def memory_table(costs: Costs) -> Table:
    """Return the bytes that one call reads from and writes to each buffer."""
    table = Table("memory", "buffer", "bytes read", "bytes written")
    _numbers(table.columns[2], table.columns[3])
    rows: list[tuple[str, str, Traffic]] = [
        *(("argument", name, traffic) for name, traffic in costs.arguments.items()),
        *(("workspace", name, traffic) for name, traffic in costs.workspace.items()),
        ("scratch", "", costs.scratch),
    ]
    if costs.undetermined.total:
        rows.append(("undetermined", "", costs.undetermined))
    for level, name, traffic in rows:
        table.add_row(level, name, f"{traffic.read:,}", f"{traffic.written:,}")
    return table


def frequent(operations: Counter[str]) -> str:
    """Name the most frequent operations, constants left out."""
    named = [(name, count) for name, count in operations.most_common() if not name.endswith(".constant")]
    return ", ".join(f"{name} {count}" for name, count in named[:SHOWN]) or MISSING


def changes(differences: Counter[str] | None, limit: int | None = SHOWN) -> str:
    """Name what there is more or less of, the largest changes first."""
    if differences is None:
        return "another language"
    largest = sorted(differences.items(), key=lambda item: (-abs(item[1]), item[0]))
    shown = [f"{change:+d} {name}" for name, change in largest[:limit]]
    rest = len(largest) - len(shown)
    return ", ".join(shown + ([f"and {rest} more"] if rest else [])) or "the same operations"


def _numbers(*columns: Column) -> None:
    for column in columns:
        column.justify = "right"
        column.no_wrap = True
