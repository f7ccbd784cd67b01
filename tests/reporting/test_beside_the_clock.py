"""The share of the dense peak by a device's clock, beside the one that a model predicts."""

import pytest
from synthetic_results import example_manifest, make_result

from harness.reporting.beside_the_clock import MEASURED, with_measured_share
from harness.reporting.frames import prepare
from harness.reporting.tables import summarize
from harness.results.frame import results_frame
from harness.results.manifest import Manifest
from harness.results.result import Result
from harness.system.machine.gpus import GpuDevice

PEAK = 540672.0
"""FLOPs in a cycle of 132 multiprocessors of 4 · 512 multiply-adds."""
MODEL: dict[str, float | str] = {
    "fraction_of_peak": 0.5,
    "grid_fraction_of_peak": 0.45,
    "bound": "tensor",
    "peak_flops_per_cycle": PEAK,
}
MANIFEST: Manifest = example_manifest("", "first").model_copy(
    update={"gpus": (GpuDevice("Example GPU", "sm_90"),)}
)


def timed(variant: str = "flash", **fields: object) -> Result:
    on_device = {"target": "cuda:sm_90a", "executor": "device", "device": "Example GPU", "dtype": "f16"}
    measured = {"time_s": 1e-3, "clock_mhz": 1500.0, "flops_executed": int(0.4 * PEAK * 1500e6 * 1e-3)}
    return make_result(variant, **{**on_device, **measured, "model": MODEL, **fields})


def shares_of(*results: Result) -> dict[str, float]:
    frame = with_measured_share(prepare(results_frame(results)), [MANIFEST])
    return frame.set_index("variant")[MEASURED].dropna().to_dict() if MEASURED in frame else {}


def test_the_measured_share_is_of_the_peak_at_the_clock_that_was_read() -> None:
    shares = shares_of(timed(), timed("naive", clock_mhz=750.0))
    assert shares == pytest.approx({"flash": 0.4, "naive": 0.8})


@pytest.mark.parametrize(
    "lacking",
    [
        {"clock_mhz": None},
        {"flops_executed": None},
        {"model": {}},
        {"target": "cuda:sm_80"},
        {"target": "cuda"},
        {"device": "Another GPU"},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_a_row_without_a_clock_or_a_model_of_its_device_has_none(lacking: dict[str, object]) -> None:
    assert shares_of(timed(), timed("naive", **lacking)).keys() == {"flash"}
    assert shares_of(timed("naive", **lacking)) == {}


def test_the_summary_shows_it_beside_the_modelled_share() -> None:
    summary = summarize(with_measured_share(prepare(results_frame([timed()])), [MANIFEST]))
    (cells,) = (dict(zip(summary.headers, row, strict=True)) for row in summary.rows)
    assert (cells["modelled % of peak"], cells["measured % of peak by clock"]) == ("50.0", "40.0")
