"""The tables of `harness ir`."""

from collections import Counter
from collections.abc import Mapping, Sequence

from rich.table import Table

from harness.costs.costs import Costs, NotCountable, Traffic
from harness.ir_view.stage_output import StageOutput

SHOWN = 4
"""How many operations a cell names."""

MISSING = "–"


def stage_table(stages: Sequence[StageOutput]) -> Table:
    """Return one row for each stage: duration, size, what it mostly consists of and what it changed."""
    table = Table("#", "stage", "ms", "lines", "most frequent operations", "against the stage before")
    for column in (0, 2, 3):
        table.columns[column].justify = "right"
    table.columns[1].no_wrap = True
    for number, stage in enumerate(stages):
        previous = stages[number - 1] if number else None
        table.add_row(
            str(number + 1),
            stage.name,
            MISSING if stage.seconds is None else f"{1e3 * stage.seconds:.1f}",
            MISSING if stage.lines is None else str(stage.lines),
            frequent(stage.operations),
            MISSING if previous is None else changes(stage.changes_from(previous)),
        )
    return table


def stage_operation_table(stage: StageOutput) -> Table:
    """Return how often each operation stands in a stage, the most frequent first."""
    table = Table("operation", "count")
    table.columns[1].justify = "right"
    for name, number in sorted(stage.operations.items(), key=lambda item: (-item[1], item[0])):
        table.add_row(name, str(number))
    return table


def operation_tables(stages: Sequence[StageOutput]) -> list[Table]:
    """Return how often each operation stands in each stage: a table for each language."""
    counted = [(number, stage) for number, stage in enumerate(stages, start=1) if stage.operations]
    languages = dict.fromkeys(stage.language for _, stage in counted)
    return [
        _operations_by_stage([(number, stage) for number, stage in counted if stage.language is language])
        for language in languages
    ]


def _operations_by_stage(numbered: Sequence[tuple[int, StageOutput]]) -> Table:
    table = Table("operation", *(str(number) for number, _ in numbered))
    for column in table.columns[1:]:
        column.justify = "right"
    for name in sorted({name for _, stage in numbered for name in stage.operations}):
        table.add_row(name, *(str(stage.operations[name] or "") for _, stage in numbered))
    return table


def cost_table(found: Mapping[str, Costs | NotCountable]) -> Table:
    """Return what one call executes at each stage; a stage that cannot be counted says why."""
    headers = ("matmul", "exp", "other", "of it fma", "main read", "main written", "scratch read")
    table = Table("stage", *headers, "scratch written", "FLOP/byte")
    for column in table.columns[1:]:
        column.justify = "right"
    for name, costs in found.items():
        if isinstance(costs, NotCountable):
            table.add_row(name, *([MISSING] * 9))
            continue
        operations = (costs.matmul, costs.exp, costs.other, costs.fma)
        memory = (costs.main_memory, costs.scratch)
        moved = [bytes_ for traffic in memory for bytes_ in (traffic.read, traffic.written)]
        intensity = MISSING if costs.intensity is None else f"{costs.intensity:.3g}"
        table.add_row(name, *(f"{number:,}" for number in (*operations, *moved)), intensity)
    return table


def memory_table(costs: Costs) -> Table:
    """Return the bytes that one call reads from and writes to each buffer."""
    table = Table("memory", "buffer", "bytes read", "bytes written")
    table.columns[2].justify = table.columns[3].justify = "right"
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


def changes(found: Counter[str] | None, limit: int | None = SHOWN) -> str:
    """Name what there is more or less of, the largest changes first."""
    if found is None:
        return "another language"
    largest = sorted(found.items(), key=lambda item: (-abs(item[1]), item[0]))
    shown = [f"{change:+d} {name}" for name, change in largest[:limit]]
    rest = len(largest) - len(shown)
    return ", ".join(shown + ([f"and {rest} more"] if rest else [])) or "the same operations"
