"""What two executors make of the same code: the outputs that both runs keep, element by element.

Two floating-point numbers of one dtype are so many units in the last place apart as there are numbers of that
dtype between them, and one more: across zero, too, where −0 and 0 are the same number with other bits.
"""

from typing import Any

import numpy as np
import pandas as pd

from harness.results.kept_outputs import KeptOutputs, bits_of, file_of, kept_outputs
from harness.results.run_folder import RunFolder

COLUMNS = ("case", "output", "elements", "differing", "most_units", "output_error_old", "output_error_new")


def compare_outputs(old: RunFolder, new: RunFolder, cases: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each output of the cases that both runs keep, those that are furthest apart first."""
    rows: list[dict[str, Any]] = []
    for case in cases["case"]:
        kept = [kept_outputs(file_of(run.path, case)) for run in (old, new)]
        if kept[0] is not None and kept[1] is not None:
            rows += _rows(case, kept[0], kept[1])
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    furthest = table.sort_values(["most_units", "differing"], ascending=False, kind="stable")
    return furthest.merge(cases, on="case", how="left")


def _rows(case: str, old: KeptOutputs, new: KeptOutputs) -> list[dict[str, Any]]:
    return [
        {
            "case": case,
            "output": name,
            "elements": before.size,
            "differing": _share_of_other_bits(before, new.arrays[name]),
            "most_units": float(np.max(units_between(before, new.arrays[name]), initial=0.0)),
            "output_error_old": old.error_ratio,
            "output_error_new": new.error_ratio,
        }
        for name, before in old.arrays.items()
        if name in new.arrays
    ]


def _share_of_other_bits(old: np.ndarray, new: np.ndarray) -> float:
    if (old.dtype, old.shape) != (new.dtype, new.shape):
        return 1.0
    return float(np.count_nonzero(bits_of(old) != bits_of(new)) / max(1, old.size))


def units_between(old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Return how many units in the last place elements are apart; ∞ where only one of two is NaN."""
    if (old.dtype, old.shape) != (new.dtype, new.shape):
        return np.array(np.inf)
    apart = np.abs(_in_order(old) - _in_order(new)).astype(np.float64)
    is_nan = np.isnan(old), np.isnan(new)
    apart[is_nan[0] & is_nan[1]] = 0
    apart[is_nan[0] != is_nan[1]] = np.inf
    return apart


def _in_order(array: np.ndarray) -> np.ndarray:
    """Return integers in the order of the numbers, neighbours one apart: the magnitude with its sign."""
    bits = bits_of(array).astype(np.int64)
    sign_bit = np.int64(1) << (8 * array.itemsize - 1)
    return np.where(bits & sign_bit, -(bits & (sign_bit - 1)), bits)
