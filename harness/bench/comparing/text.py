"""A comparison as text: for the terminal, and in Markdown for a pull request."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.bench.comparing.comparison import Comparison
from harness.bench.comparing.deciding import deciding_commands
from harness.bench.comparing.verdicts import least_findable
from harness.reporting.frames import describe_problem, is_missing, records
from harness.reporting.tables import markdown_rows
from harness.reporting.units import beside_limit
from harness.results.statistics import Verdict
from harness.system.plurals import counted
from harness.system.printable import markdown_code, markdown_text

if TYPE_CHECKING:
    import pandas as pd

MOST_ROWS = 50
"""Cases of a kind that are listed; the count is of all."""
CASE_COLUMNS = {name: name for name in ("case", "variant", "target", "problem")}
CASE_WORDS = "{variant} · {target} · {problem}"
TIME_COLUMNS = {**CASE_COLUMNS, "time, lower is better": "ratio", "old": "old", "new": "new", "how": "how"}
OUTPUT_COLUMNS = {**CASE_COLUMNS, "how far apart": "apart", "error over tolerance": "error"}


def headline(comparison: Comparison) -> str:
    """Return what came of it on one line, what is worse first."""
    counts = {
        "lost": len(comparison.lost),
        "slower": comparison.count(Verdict.SLOWER),
        "faster": comparison.count(Verdict.FASTER),
        f"same ({comparison.identical} of identical code, whatever was measured)"
        if comparison.identical
        else "same": comparison.count(Verdict.SAME),
        "ambiguous": comparison.count(Verdict.AMBIGUOUS),
        "right now": len(comparison.won),
        "only in the old run": len(comparison.only_old),
        "only in the new run": len(comparison.only_new),
    }
    parts = [f"{count} {what}" for what, count in counts.items() if count or what in ("slower", "lost")]
    reasons = comparison.not_compared
    if reasons:
        why = ", ".join(f"{count} {reason}" for reason, count in reasons.items())
        parts.append(f"{sum(reasons.values())} not compared by time ({why})")
    for what, table in (
        ("failing now", comparison.failing),
        ("failed in both runs", comparison.failed),
        ("checked in neither run", comparison.never_checked),
    ):
        if len(table):
            parts.append(f"{len(table)} {what} ({_outcomes(table)})")
    threshold = f"{100 * comparison.threshold:g} %"
    cases = counted(len(comparison.cases), "case")
    return f"{cases} in both runs: {', '.join(parts)} (differences above {threshold})"


def _outcomes(table: "pd.DataFrame") -> str:
    """Return how many cases came to what, the most frequent first."""
    counts = Counter(map(_transition, table["status_old"], table["status_new"]))
    return ", ".join(f"{count} {outcome}" for outcome, count in counts.most_common())


def _transition(old: str, new: str) -> str:
    """Return a status, or both where the runs differ."""
    return new if old == new else f"{old} → {new}"


def _verdict(comparison: Comparison) -> str:
    if comparison.is_worse:
        return "worse"
    if comparison.count(Verdict.AMBIGUOUS):
        return "undecided"
    counts = {"failing now": len(comparison.failing), "failed in both runs": len(comparison.failed)}
    return ", ".join(["not worse", *(f"{count} {what}" for what, count in counts.items() if count)])


@dataclass(frozen=True)
class Section:
    """Cases that are told together."""

    title: str
    columns: Mapping[str, str]
    """What a table shows of each row: its headers, and the names of values."""
    sentence: str
    """What the terminal shows of each row, with the names of values in braces."""
    rows: Sequence[Mapping[str, Any]]
    hidden: str = ""
    """How many there are besides, in words."""


def sections(comparison: Comparison) -> Iterator[Section]:
    """Yield what became right or wrong, whose times differ, worse ones first, and which outputs differ."""
    tables = {
        "no longer right": comparison.lost,
        "failing now": comparison.failing,
        "failed in both runs": comparison.failed,
        "right now": comparison.won,
    }
    for title, table in tables.items():
        if len(table):
            rows = [_changed(row) for row in _named(table)]
            columns = {**CASE_COLUMNS, "before → now": "what"}
            yield Section(f"{title} ({len(table)})", columns, f"{{case}}  {CASE_WORDS}: {{what}}", rows)
    for verdict in (Verdict.SLOWER, Verdict.FASTER, Verdict.AMBIGUOUS):
        if count := comparison.count(verdict):
            rows = list(_timed_rows(comparison.of_verdict(verdict, MOST_ROWS), comparison.threshold))
            sentence = f"{{case}}  {{ratio}}  {CASE_WORDS}  ({{old}} → {{new}}; {{how}})"
            hidden = f"and {count - MOST_ROWS} more" if count > MOST_ROWS else ""
            yield Section(f"{verdict.value} ({count})", TIME_COLUMNS, sentence, rows, hidden)
    if len(comparison.outputs):
        rows = list(_output_rows(comparison.outputs))
        sentence = f"{{case}}  {CASE_WORDS}: {{apart}}, error over tolerance {{error}}"
        yield Section(_outputs_title(comparison.outputs), OUTPUT_COLUMNS, sentence, rows)


def plain_lines(comparison: Comparison) -> Iterator[str]:
    """Yield the lines of a comparison for the terminal."""
    yield headline(comparison)
    yield from comparison.notes
    for section in sections(comparison):
        yield from ("", f"{section.title}:")
        yield from (f"  {section.sentence.format_map(row)}" for row in section.rows)
        yield from filter(None, [section.hidden])
    commands = deciding_commands(comparison, MOST_ROWS)
    if commands:
        yield from ("", "to decide what is ambiguous, measure both again on a quiet machine:")
        yield from (f"  {command}" for command in commands)


def markdown(comparison: Comparison) -> str:
    """Return a comparison in Markdown."""
    parts = [f"## {markdown_text(comparison.new.experiment)}: {_verdict(comparison)}"]
    parts.append(markdown_text(headline(comparison)))
    parts += [f"- {markdown_text(note)}" for note in comparison.notes]
    for section in sections(comparison):
        cells = [[str(row[name]) for name in section.columns.values()] for row in section.rows]
        table = markdown_rows(list(section.columns), cells, [False] * len(section.columns)) if cells else ""
        parts += filter(None, [f"### {section.title}", table.strip(), section.hidden])
    commands = deciding_commands(comparison, MOST_ROWS)
    if commands:
        parts += ["To decide what is ambiguous, on a quiet machine:", *map(markdown_code, commands)]
    return "\n\n".join(parts) + "\n"


def _changed(row: Mapping[str, Any]) -> dict[str, Any]:
    reason = row["reason_new"] if isinstance(row["reason_new"], str) else ""
    first = next(iter(reason.splitlines()), "")
    what = _transition(row["status_old"], row["status_new"]) + (f": {first}" if first else "")
    return {**row, "what": what}


def _timed_rows(table: "pd.DataFrame", threshold: float) -> Iterator[dict[str, str]]:
    """Yield rows in words; an ambiguous one says what its measurement could have found."""
    for row in _named(table):
        is_bounded = not is_missing(row["low"])
        bounds = f"[{row['low']:.3f}, {row['high']:.3f}]" if is_bounded else "[interval not known]"
        how = str(row["how"])
        if is_bounded and row["verdict"] == Verdict.AMBIGUOUS:
            findable = least_findable(row["low"], row["high"], threshold)
            how += f"; {findable:.1%} would be found in nine of ten"
        yield {
            **{name: str(row[name]) for name in ("case", "variant", "target", "problem")},
            "how": how,
            "ratio": f"{row['ratio']:.3f}× {bounds}",
            "old": f"{1e3 * row['time_s_old']:.4g} ms",
            "new": f"{1e3 * row['time_s_new']:.4g} ms",
        }


def _outputs_title(outputs: "pd.DataFrame") -> str:
    """Return how many outputs are the same, and how many are listed of the others."""
    differing = int((outputs["differing"] > 0).sum())
    first = f", the first {MOST_ROWS} are" if differing > MOST_ROWS else ""
    summary = f"{len(outputs) - differing} the same bit by bit, {differing} not{first}"
    return f"outputs that both runs keep ({len(outputs)}): {summary}"


def _output_rows(outputs: "pd.DataFrame") -> Iterator[dict[str, str]]:
    """Yield the outputs that differ in words, those that are furthest apart first."""
    for row in _named(outputs[outputs["differing"] > 0]):
        share = f"{100 * row['differing']:.3g} % of {row['elements']} elements differ"
        yield {
            **{name: str(row[name]) for name in ("case", "variant", "target", "problem")},
            "apart": f"{row['output']}: {share}, by {row['most_units']:.6g} units in the last place at most",
            "error": f"{beside_limit(row['output_error_old'])} → {beside_limit(row['output_error_new'])}",
        }


def _named(table: "pd.DataFrame") -> list[dict[str, Any]]:
    """Return rows with the words that name a case, those of the new run."""
    rows = []
    for row in records(table.head(MOST_ROWS)):
        own = {name.removesuffix("_new"): value for name, value in row.items() if not name.endswith("_old")}
        params = own.get("params")
        words = f"{describe_problem(own)} {params}" if isinstance(params, str) else describe_problem(own)
        rows.append({**row, "variant": own["variant"], "target": own["target"], "problem": words.strip()})
    return rows
