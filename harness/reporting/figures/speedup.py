"""Speed-up of each variant over a baseline: grouped bars, the value on each bar."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.reporting.figures.base import NothingToDraw, choose_rows, require_times
from harness.reporting.figures.over_sizes import Scale, SizeFigure, SizeSettings
from harness.reporting.frames import (
    BASELINE_LABEL,
    PROBLEM_COLUMNS,
    RUN_COLUMNS,
    is_own_baseline,
    labels_in,
    records,
)
from harness.system.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

PAIRED_NOTE = (
    "Error bars: 95 % interval of the typical ratio, paired by timing round, over starts and rounds."
)
MEDIANS_NOTE = "Ratios of median times, without interval."


class SpeedupSettings(SizeSettings):
    """`[figures] speedup = { … }`."""

    baseline: str | None = None
    """Variant (or series) that 1 stands for; the experiment's baseline if not given."""

    @property
    def named_variants(self) -> dict[str, tuple[str, ...]]:
        """See `FigureSettings.named_variants`."""
        return {**super().named_variants, "baseline": (self.baseline,) if self.baseline else ()}


class Speedup(SizeFigure):
    """Bars with the paired 95 % interval, a line at 1, and a word where a bar is missing."""

    name = "speedup"
    summary = "speed-up of each variant over a baseline, a value on each bar"
    settings = SpeedupSettings
    data_columns = ("seq", "skew", "status", BASELINE_LABEL, "speedup")
    shows_rates = False
    reads = "Speed-up: higher is better."
    word_of_passed = "no baseline"

    def chosen(self, frame: pd.DataFrame, settings: SpeedupSettings) -> pd.DataFrame:
        """Return the chosen rows with their speed-ups over the figure's baseline, which is left out."""
        require_times(frame)
        rows = choose_rows(over_baseline(frame, settings.baseline), settings)
        if not rows["speedup"].notna().any():
            raise NothingToDraw("no case was timed together with its baseline")
        return rows

    def scale(self, rows: pd.DataFrame, settings: SpeedupSettings) -> Scale:
        """Return the axis of speed-ups."""
        compared = rows[rows["speedup"].notna()]
        names = [settings.display(str(label)) for label in compared[BASELINE_LABEL].unique()]
        notes = [PAIRED_NOTE if compared["speedup_low"].notna().any() else MEDIANS_NOTE]
        notes += [f"Baselines: {', '.join(names)}."] if len(names) > 1 else []
        label = f"speed-up\n({names[0] if len(names) == 1 else 'baseline'} = 1)"
        ends = ("speedup_low", "speedup_high")
        return Scale("speedup", label, ends=ends, line=(1.0, "baseline"), notes=tuple(notes), as_bars=True)


def over_baseline(frame: pd.DataFrame, wanted: str | None) -> pd.DataFrame:
    """Return a prepared frame's rows with speed-ups over a baseline, which is itself left out.

    The recorded speed-ups are taken where no baseline is wanted, or all of them are over the wanted one; each
    is over the baseline of its own run.  Else they are ratios of median times.
    """
    recorded = frame[frame["speedup"].notna()]
    is_recorded = (recorded["baseline"] == wanted) | (recorded[BASELINE_LABEL] == wanted)
    if wanted is not None and not (len(recorded) and is_recorded.all()):
        return _over_median_times(frame, wanted)
    if recorded.empty:
        raise NothingToDraw("no baseline was timed; name one as figures.speedup.baseline")
    compared = records(frame[["case", "variant", "speedup", "baseline", "baseline_case"]])
    return frame[[not is_own_baseline(row) for row in compared]]


def _over_median_times(frame: pd.DataFrame, wanted: str) -> pd.DataFrame:
    """Return speed-ups over a variant in the same run, or over a series, as ratios of median times."""
    is_series = wanted in labels_in(frame)
    is_baseline = frame["label" if is_series else "variant"] == wanted
    keys = [*PROBLEM_COLUMNS, *([] if is_series else RUN_COLUMNS)]
    baseline, rows = frame[is_baseline], frame[~is_baseline]
    if baseline.empty or baseline.duplicated(keys).any():
        series = labels_in(frame if baseline.empty else baseline)
        raise InputError(f"figures.speedup.baseline: found {wanted!r}, expected one of {', '.join(series)}")
    times = baseline[keys].assign(baseline_time_s=baseline["time_s"])
    of_each = rows[keys].merge(times, on=keys, how="left").set_index(rows.index)["baseline_time_s"]
    return rows.assign(
        speedup=of_each / rows["time_s"], speedup_low=None, speedup_high=None, **{BASELINE_LABEL: wanted}
    )
