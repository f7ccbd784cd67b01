"""The numbers that the README shows, computed from `results/reference`; see test_readme.py."""

from pathlib import Path

import pandas as pd

import harness
from harness.results.manifest import Manifest

REFERENCE = Path(__file__).parents[1] / "results" / "reference"

PANEL = ("head_dim 64, full", 64, False)
SHOWN = ("flash", "unfused", "naive", "torch", "iree-unfused")


def newest_run(experiment: str) -> Path:
    return max(path for path in (REFERENCE / experiment).iterdir() if path.is_dir())


def manifest(run: Path) -> Manifest:
    return Manifest.model_validate_json((run / "manifest.json").read_text())


def significant(value: float) -> str:
    """Return three significant digits: `72.3`, `104`, `7.27`."""
    return f"{value:#.3g}".rstrip(".")


def ratio(row: "pd.Series") -> str:
    """Return a speed-up with its interval: `1.67× [1.40, 1.83]`."""
    return f"{row.speedup:.2f}× [{row.speedup_low:.2f}, {row.speedup_high:.2f}]"


def cell(row: "pd.Series", baseline: str) -> str:
    """Return throughput and speed-up of one row; a busy row says so."""
    text = significant(1000 * row.tflops)
    if row.variant != baseline:
        text += f" ({ratio(row)})"
    return f"{text} busy" if row.busy else text


def panel_table() -> list[str]:
    """Return the lines of the README's table: one panel of the default sweep."""
    frame = harness.load(newest_run("seq_sweep"))
    title, head_dim, causal = PANEL
    frame = frame[(frame.head_dim == head_dim) & (frame.causal == causal)]
    lengths = sorted(frame.seq_q.unique())
    lines = [
        f"**{title}**, GFLOP/s (speed-up over `unfused`, with its 95 % interval); higher is better",
        "",
        f"| variant | {' | '.join(map(str, lengths))} |",
        "|---|" + "---:|" * len(lengths),
    ]
    for variant in SHOWN:
        rows = frame[frame.variant == variant].set_index("seq_q", drop=False)
        cells = [cell(rows.loc[n], "unfused") if n in rows.index else "–" for n in lengths]
        lines.append(f"| `{variant}` | {' | '.join(cells)} |")
    return lines


def busy_sentence() -> str:
    frame = harness.load(newest_run("seq_sweep"))
    return f"{int(frame.busy.sum())} of its {len(frame)} rows were measured while the machine was busy."


def claims() -> list[str]:
    """Return the README's sentences on PyTorch; a speed-up is claimed where its interval excludes 1."""
    frame = harness.load(newest_run("flash_vs_torch"))
    flash = frame[frame.variant == "flash"]
    sentences = []
    for causal, name in ((False, "Without a mask"), (True, "With a causal mask")):
        rows = flash[flash.causal == causal]
        faster = rows[rows.speedup_low > 1]
        slower = rows[rows.speedup_high < 1]
        assert slower.empty, "say where it is slower"
        least, most = faster.loc[faster.speedup.idxmin()], faster.loc[faster.speedup.idxmax()]
        text = f"{name} it is {ratio(least)} to {ratio(most)} as fast in {len(faster)} of {len(rows)} cases"
        undecided = len(rows) - len(faster)
        text += f"; in {undecided} the interval includes 1" if undecided else ""
        busy = int(rows.busy.sum())
        text += f"; {busy} of them was measured while the machine was busy" if busy == 1 else ""
        assert busy <= 1, "say how many were busy"
        sentences.append(f"{text}.")
    full = frame[~frame.causal]
    flash_peak, torch_peak = (
        f"{100 * rows.fraction_of_peak.min():.0f}–{100 * rows.fraction_of_peak.max():.0f} %"
        for rows in (full[full.variant == "flash"], full[full.variant == "torch"])
    )
    sentences.append(
        f"Without a mask `flash` reaches {flash_peak} and PyTorch {torch_peak} of the measured peak."
    )
    return sentences
