"""A comparison as text: for the terminal, and in Markdown for a pull request."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pandas as pd

from harness.bench.comparing.comparison import Comparison, Outcome
from harness.bench.comparing.turns_taken import IN_TURN
from harness.bench.comparing.verdicts import Margins, least_findable
from harness.reporting.frames import describe_problem, is_missing, records
from harness.reporting.units import beside_limit
from harness.results.manifest import Manifest
from harness.system.plurals import counted
from harness.system.printable import markdown_code, markdown_text, shell_line

MOST_ROWS = 50
LISTED_BY_STATUS = (Outcome.LOST, Outcome.FAILING, Outcome.FAILED, Outcome.RIGHT)
LISTED_BY_TIME = (Outcome.SLOWER, Outcome.SLOWER_WITHIN, Outcome.FASTER, Outcome.AMBIGUOUS)
ALWAYS_COUNTED = (Outcome.LOST, Outcome.SLOWER)
TO_DECIDE = "to decide what is ambiguous, measure both again on a quiet machine"


def headline(comparison: Comparison) -> str:
    """Return what came of it on one line, what is worse first."""
    cases, parts = comparison.cases, []
    for outcome in Outcome:
        count = int((cases["outcome"] == outcome.value).sum())
        if count or outcome in ALWAYS_COUNTED:
            parts.append(f"{count} {outcome.value}")
        identical = int((cases["how"] == "identical").sum())
        if outcome is Outcome.SAME and identical:
            parts[-1] += f" ({identical} of identical code, whatever was measured)"
    for name, table in (("old", comparison.only_old), ("new", comparison.only_new)):
        if len(table):
            parts.append(f"{len(table)} only in the {name} run")
    margins = comparison.margins
    matters = f"slower: by more than {100 * margins.threshold:g} %"
    if margins.minimum_effect:
        matters += f"; up to {100 * margins.minimum_effect:g} % is no difference"
    return f"{counted(len(cases), 'case')} in both runs: {', '.join(parts)} ({matters})"


def power_lines(comparison: Comparison) -> list[str]:
    """Return what ratios of revisions that took turns are, and what they could find in nine of ten."""
    cases = comparison.cases
    judged = cases[(cases["how"] == IN_TURN) & cases["low"].notna()]
    found = sorted(
        _findable(comparison.margins, low, high)
        for low, high in zip(judged["low"], judged["high"], strict=True)
    )
    if not found:
        return []
    median, most = found[len(found) // 2], found[-1]
    worst = f"; in the case that is known least {most[1]:.1%} and {most[0]:.1%}" if len(found) > 1 else ""
    return [
        "ratios are of times in the same rounds; each of the two times in brackets is a mean of its own",
        f"found in nine of ten: by the gate a slowdown of {median[1]:.1%}, "
        f"a difference of {median[0]:.1%}{worst}",
    ]


def _findable(margins: Margins, low: float, high: float) -> tuple[float, float]:
    """Return the difference, and the slowdown beyond the threshold, that such an interval finds."""
    return least_findable(low, high, margins.minimum_effect), least_findable(low, high, margins.threshold)


def gate_verdict(comparison: Comparison) -> str:
    """Return what the gate says of all cases."""
    if comparison.is_worse:
        return "worse"
    return "not decided" if comparison.is_undecided else "not worse"


def sections(comparison: Comparison) -> Iterator[tuple[str, list[str]]]:
    """Yield titles and lines: what became right or wrong, whose times differ, and which outputs do."""
    timed_line = partial(_timed_line, comparison.margins)
    for outcomes, line_of in ((LISTED_BY_STATUS, _changed_line), (LISTED_BY_TIME, timed_line)):
        for outcome in outcomes:
            table = comparison.having(outcome)
            if len(table):
                yield f"{outcome.value} ({len(table)})", _lines(table, line_of)
    outputs = comparison.outputs
    if len(outputs):
        differing = outputs[outputs["differing"] > 0]
        summary = f"{len(outputs) - len(differing)} the same bit by bit, {len(differing)} not"
        yield f"outputs that both runs keep ({len(outputs)}): {summary}", _lines(differing, _output_line)


def plain_lines(comparison: Comparison) -> Iterator[str]:
    """Yield the lines of a comparison for the terminal."""
    yield headline(comparison)
    yield from power_lines(comparison)
    yield from comparison.notes
    for title, lines in sections(comparison):
        yield from ("", f"{title}:", *(f"  {line}" for line in lines))
    commands = deciding_commands(comparison)
    if commands:
        yield from ("", f"{TO_DECIDE}{comparison.longer}:", *(f"  {command}" for command in commands))
    verdict, status = gate_verdict(comparison), int(comparison.fails)
    is_let_pass = comparison.is_undecided and not comparison.fails
    hint = "; with --fail-on ambiguous it would be 1" if is_let_pass else ""
    yield f"gate: {verdict} (exit status {status}{hint})"


def markdown(comparison: Comparison) -> str:
    """Return a comparison in Markdown."""
    title = f"## {markdown_text(comparison.new.experiment)}: {gate_verdict(comparison)}"
    parts = [title, markdown_text(headline(comparison))]
    parts += [f"- {markdown_text(note)}" for note in (*power_lines(comparison), *comparison.notes)]
    for title, lines in sections(comparison):
        parts += filter(None, [f"### {title}", "\n".join(f"- {markdown_text(line)}" for line in lines)])
    commands = deciding_commands(comparison)
    if commands:
        parts += [f"{TO_DECIDE}{comparison.longer}:", *map(markdown_code, commands)]
    return "\n\n".join(parts) + "\n"


def deciding_commands(comparison: Comparison) -> list[str]:
    """Return the commands that measure ambiguous cases again, with their baselines; none without any."""
    ambiguous = comparison.having(Outcome.AMBIGUOUS).head(MOST_ROWS)
    if ambiguous.empty:
        return []
    names = dict.fromkeys([*ambiguous["case"], *ambiguous["baseline_case_new"].dropna()])
    only = ["--only", f"case={','.join(names)}"]
    if comparison.made_by:
        return [shell_line([*comparison.made_by, *only])]
    return [_command_of_run(run.manifest, only) for run in (comparison.old, comparison.new)]


def _command_of_run(manifest: Manifest, only: list[str]) -> str:
    command = shell_line(["harness", "run", *manifest.named_by, *only])
    commit = manifest.latest.git_commit
    return command if commit is None else f"{shell_line(['git', 'checkout', commit])} && {command}"


def _lines(table: pd.DataFrame, line_of: Any) -> list[str]:
    lines = [line_of(row, _words(row)) for row in records(table.head(MOST_ROWS))]
    return [*lines, *([f"and {len(table) - MOST_ROWS} more"] if len(table) > MOST_ROWS else [])]


def _words(row: dict[str, Any]) -> str:
    own = {name.removesuffix("_new"): value for name, value in row.items() if not name.endswith("_old")}
    params = own["params"] if isinstance(own.get("params"), str) else ""
    return f"{own['variant']} · {own['target']} · {describe_problem(own)} {params}".strip()


def _changed_line(row: dict[str, Any], words: str) -> str:
    old, new, reason = row["status_old"], row["status_new"], row["reason_new"]
    change = new if old == new else f"{old} → {new}"
    first = next(iter(reason.splitlines()), "") if isinstance(reason, str) else ""
    return f"{row['case']}  {words}: {change}" + (f": {first}" if first else "")


def _timed_line(margins: Margins, row: dict[str, Any], words: str) -> str:
    """Return a row in words; an ambiguous one says what its measurement could have found."""
    bounds = "interval not known" if is_missing(row["low"]) else f"{row['low']:.3f}, {row['high']:.3f}"
    how = str(row["how"])
    if row["outcome"] == Outcome.AMBIGUOUS.value and not is_missing(row["low"]):
        if row["low"] > 1 + margins.minimum_effect:
            how += f"; by its interval slower, perhaps not beyond {100 * margins.threshold:g} %"
        any_effect, slowdown = _findable(margins, row["low"], row["high"])
        how += f"; found in nine of ten: a difference of {any_effect:.1%}, a slowdown of {slowdown:.1%}"
    old, new = (f"{1e3 * row[name]:.4g} ms" for name in ("time_s_old", "time_s_new"))
    return f"{row['case']}  {row['ratio']:.3f}× [{bounds}]  {words}  ({old} → {new}; {how})"


def _output_line(row: dict[str, Any], words: str) -> str:
    share = f"{100 * row['differing']:.3g} % of {row['elements']} elements differ"
    errors = " → ".join(beside_limit(row[f"output_error_{run}"]) for run in ("old", "new"))
    apart = f"by {row['most_units']:.6g} units in the last place at most"
    return f"{row['case']}  {words}: {row['output']}: {share}, {apart}, error over tolerance {errors}"
