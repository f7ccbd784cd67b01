"""The share of the dense peak by a device's clock, beside the one that a model predicts."""

import pandas as pd
import pytest
from synthetic_results import example_manifest, make_result

from harness.reporting.beside_the_clock import MEASURED, beside_the_clock, markdown_beside_the_clock
from harness.reporting.frames import prepare
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


def rows_of(*results: Result, manifest: Manifest = MANIFEST) -> pd.DataFrame:
    return beside_the_clock(prepare(results_frame(results)), [manifest])


def test_the_measured_share_is_of_the_peak_at_the_clock_that_was_read() -> None:
    rows = rows_of(timed(), timed("naive", clock_mhz=750.0))
    assert dict(zip(rows["variant"], rows[MEASURED], strict=True)) == pytest.approx(
        {"flash": 0.4, "naive": 0.8}
    )


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
    rows = rows_of(timed(), timed("naive", **lacking))
    assert list(rows["variant"]) == ["flash"]
    assert rows_of(timed("naive", **lacking)).empty


def test_the_table_shows_what_the_frame_has_and_nothing_where_no_row_has_a_model() -> None:
    by_driver = {"driver_registers": 166, "driver_local_bytes": 16}
    frame = prepare(results_frame([timed(registers=168, spills=0, **by_driver)]))
    table = markdown_beside_the_clock(frame, [MANIFEST])
    header, _, row = table.splitlines()
    headers, cells = ([cell.strip() for cell in line.strip("|").split("|")] for line in (header, row))
    measured = dict(zip(headers, cells, strict=True))
    assert measured["clock (MHz)"] == "1500"
    assert (measured["model: loop (% of peak)"], measured["measured (% of peak)"]) == ("50.0", "40.0")
    assert (measured["registers"], measured["registers by the driver"]) == ("168", "166")
    assert markdown_beside_the_clock(prepare(results_frame([make_result()])), [MANIFEST]) == ""
