"""Tables of results as two runs leave them: times that drift from run to run, and a baseline in each."""

import numpy as np
import pandas as pd


def run_of(
    seconds: np.ndarray,
    random: np.random.Generator,
    *,
    drift: float = 0.0,
    noise: float = 0.005,
    digests: list[str | None] | None = None,
    with_baseline: bool = True,
) -> pd.DataFrame:
    """Return a run's table: one row a case, of which the first is the baseline.

    Args:
        seconds: true times.
        random: draws what is measured of them.
        drift: logarithm of what all times of this run are longer by.
        noise: standard error of the logarithm of each time.
        digests: of the machine code of each case; by default they all differ.
        with_baseline: whether rows have speed-ups, which do not know the drift.
    """
    count = len(seconds)
    own = seconds * np.exp(noise * random.standard_normal(count))
    measured = own * np.exp(drift)
    reach = np.exp(1.96 * noise)
    speedup = own[0] / own
    both = np.exp(1.96 * noise * np.sqrt(2))
    named = digests if digests is not None else [None] * count
    return pd.DataFrame(
        {
            "case": [f"case{number:06}" for number in range(count)],
            "variant": "flash",
            "target": "cpu",
            "device": "a processor",
            "status": "passed",
            "reason": None,
            "time_s": measured,
            "time_low_s": measured / reach,
            "time_high_s": measured * reach,
            "speedup": speedup if with_baseline else np.nan,
            "speedup_low": speedup / both if with_baseline else np.nan,
            "speedup_high": speedup * both if with_baseline else np.nan,
            "baseline_case": "case000000" if with_baseline else None,
            "binary_digest": named,
            "flop_convention": "usual",
        }
    )
