"""Tables for LaTeX, and numbers for pgfplots."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from synthetic_results import RESULTS, WriteRun, make_result

from harness.reporting.explaining import read_origin
from harness.reporting.figures.embedding import embedded
from harness.reporting.frames import prepare
from harness.reporting.latex import SPECIAL, latex_text, plot_data, summary_latex
from harness.reporting.panel_tables import BUSY_NOTE, paper_grids
from harness.reporting.report import make_report
from harness.reporting.tables import summarize
from harness.reporting.units import UNCLEAR_NOTE
from harness.results.frame import results_frame
from harness.results.result import Result


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("50 % & more", r"50 \% \& more"),
        ("\\input{x}", r"\textbackslash{}input\{x\}"),
        ("1.5× # $ ~ ^", r"1.5\ensuremath{\times} \# \$ \textasciitilde{} \textasciicircum{}"),
        ("a\nb", r"a\textbackslash{}nb"),
        ("a_b $O(N)$", r"a\_b $O(N)$"),
        (r"$\frac{N^2}{d_v}$ & $x$", r"$\frac{N^2}{d_v}$ \& $x$"),
        (r"$\input{x}$", r"\$\textbackslash{}input\{x\}\$"),
        (r"$\text{\input x}$", r"\$\textbackslash{}text\{\textbackslash{}input x\}\$"),
    ],
)
def test_what_latex_reads_as_commands_is_escaped_but_for_formulas(text: str, latex: str) -> None:
    assert latex_text(text) == latex


def latex_of(frame: pd.DataFrame) -> list[str]:
    return list(summary_latex(paper_grids(frame), summarize(frame)))


def timed_rows(**fields: Any) -> list[Result]:
    series = (("flash", {}), ("naive", {"tile_kv": 64}), ("naive", {"tile_kv": 128}))
    return [
        make_result(variant, seq, params=params, time_s=seq * 1e-5, **fields)
        for variant, params in series
        for seq in (256, 512)
    ]


def test_a_table_has_the_rules_of_booktabs_and_a_line_for_each_variant() -> None:
    lines = latex_of(prepare(results_frame(timed_rows())))
    begin = lines.index(r"\begin{tabular}{lrr}")
    assert lines[begin + 1 : begin + 7] == [
        r"\toprule",
        r" & \multicolumn{2}{c}{GFLOP/s} \\",
        r"\cmidrule(lr){2-3}",
        r"seq & 256 & 512 \\",
        r"variant &  &  \\",
        r"\midrule",
    ]
    assert lines[begin + 8].startswith(r"naive tile\_kv=64 & ")
    assert lines[begin + 10 : begin + 12] == [r"\bottomrule", r"\end{tabular}"]
    for line in lines:
        assert line.count("&") == 0 or line.endswith(r"\\")


def test_a_paper_has_one_table_with_dtypes_across_and_panels_down() -> None:
    rows = [
        row
        for dtype in ("f16", "f32")
        for mask in ("full", "causal")
        for head_dim in (64, 128)
        for row in timed_rows(dtype=dtype, mask=mask, head_dim=head_dim)
    ]
    lines = latex_of(prepare(results_frame(rows)))
    assert [line for line in lines if "{tabular}" in line] == [r"\begin{tabular}{lllrrrr}", r"\end{tabular}"]
    assert r" &  & dtype & \multicolumn{2}{c}{f32} & \multicolumn{2}{c}{f16} \\" in lines
    assert r"\cmidrule(lr){4-5} \cmidrule(lr){6-7}" in lines
    assert r" &  & seq & 256 & 512 & 256 & 512 \\" in lines
    assert sum(r"\multirow[t]{6}{*}{" in line for line in lines) == 2
    assert sum(r"\multirow[t]{3}{*}{causal}" in line for line in lines) == 2
    assert not lines[lines.index(r"\bottomrule") - 1].startswith(r"\cmidrule")


def test_decoding_and_prefill_have_tables_of_their_own_sorted_by_length() -> None:
    rows = [
        make_result(variant, seq, seq_kv=keys, dtype=dtype, time_s=1.0, case=f"{variant}{seq}{keys}{dtype}")
        for variant in ("flash", "naive")
        for dtype in ("f32", "bf16")
        for seq, keys in ((1, 1024), (1, 512), (256, 256), (1024, 1024), (2048, 2048))
    ]
    lines = latex_of(prepare(results_frame(rows)))
    assert r"seq\_kv & 512 & 1024 & 512 & 1024 \\" in lines
    assert r"seq & 256 & 1024 & 2048 & 256 & 1024 & 2048 \\" in lines
    assert not any(" – " in line for line in lines)


def test_without_lengths_a_table_has_a_line_for_each_case() -> None:
    rows = [
        make_result(variant, head_dim=head_dim, registers=64)
        for head_dim in (64, 128)
        for variant in ("flash", "naive")
    ]
    lines = latex_of(prepare(results_frame(rows)))
    assert [line for line in lines if "{tabular}" in line] == [r"\begin{tabular}{rllr}", r"\end{tabular}"]
    assert r"head\_dim & variant &  &  \\" in lines
    assert r"\multirow[t]{2}{*}{128} & flash & passed & 64 \\" in lines
    assert r" & naive & passed & 64 \\" in lines


def test_marks_of_the_tables_are_explained_where_there_are_any() -> None:
    bounds = {"speedup": 1.01, "speedup_low": 0.9, "speedup_high": 1.1, "baseline": "unfused"}
    clear = [make_result("unfused", seq, time_s=1.0, tflops=0.1) for seq in (256, 512)]
    unclear = [make_result("flash", seq, time_s=1.0, tflops=0.1, busy=True, **bounds) for seq in (256, 512)]
    notes = [f"% {note}" for note in (BUSY_NOTE, UNCLEAR_NOTE)]
    for rows, expected in ((clear, []), ([*clear, *unclear], notes)):
        lines = latex_of(prepare(results_frame(rows)))
        assert [line for line in lines if line in notes] == expected
        assert any("approx" in line for line in lines) == bool(expected)


def test_a_plots_table_has_distances_to_the_ends_of_intervals() -> None:
    timed = make_result(time_s=0.002, time_low_s=0.0015, time_high_s=0.003)
    frame = prepare(results_frame([timed, make_result(seq=512, mask="causal")]))
    origin, header, *lines = plot_data(frame, ("time_s", "stage_s."), "from here")
    assert origin == f"% {embedded('from here')}"
    names = header.split()
    assert names == [
        "series",
        "series_number",
        "mask",
        "seq_q",
        "seq_kv",
        "time_s",
        "time_s_minus",
        "time_s_plus",
    ]
    assert dict(zip(names, lines[0].split(), strict=True)) == {
        "series": "{flash}",
        "series_number": "0",
        "mask": "{full}",
        "seq_q": "256",
        "seq_kv": "256",
        "time_s": "0.002",
        "time_s_minus": "0.0005",
        "time_s_plus": "0.001",
    }
    assert lines[1].split()[-3:] == ["nan"] * 3


def test_a_report_has_both_and_the_numbers_say_where_they_come_from(write_run: WriteRun) -> None:
    folder = write_run(RESULTS, "[figures]\nspeedup = {}\n")
    report = make_report([folder], formats=("svg",)).folder
    assert r"\toprule" in (report / "summary.tex").read_text()
    assert read_origin(report / "speedup.dat") == read_origin(report / "speedup.svg")


PAPER = r"""
\documentclass{article}
\usepackage{booktabs,multirow,amssymb,pgfplots}
\pgfplotsset{compat=1.16}
\begin{document}
TEXT
\input{summary}
\begin{tikzpicture}\begin{axis}
\addplot+[only marks, error bars/y dir=both, error bars/y explicit]
  table[x=seq_q, y=time_s, y error minus=time_s_minus, y error plus=time_s_plus] {times.dat};
\end{axis}\end{tikzpicture}
\end{document}
"""


@pytest.mark.skipif(
    shutil.which("pdflatex") is None, reason="there is no pdflatex: nothing compiles the tables"
)
def test_latex_takes_the_tables_and_pgfplots_the_numbers(tmp_path: Path) -> None:
    timed = make_result(time_s=0.002, time_low_s=0.0015, time_high_s=0.003)
    rows = [timed, make_result("naive", params={"form": "50 % & $x_1$ #~^"}), make_result(seq=512)]
    frame = prepare(results_frame(rows))
    (tmp_path / "summary.tex").write_text("\n".join(latex_of(frame)))
    (tmp_path / "times.dat").write_text("\n".join(plot_data(frame, ("time_s",), "from here")) + "\n")
    (tmp_path / "paper.tex").write_text(PAPER.replace("TEXT", latex_text("".join(SPECIAL))))
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "paper.pdf").stat().st_size > 0
