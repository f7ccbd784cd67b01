import pandas as pd
import pytest
from synthetic_results import make_result

from harness.reporting.csv_tables import full_csv, summary_csv
from harness.reporting.frames import prepare
from harness.results.frame import results_frame
from harness.system.status import Status


@pytest.fixture
def frame() -> pd.DataFrame:
    """A timed row, and one that failed."""
    return prepare(
        results_frame(
            [
                make_result("flash", 256, time_s=0.00136957, speedup=2.0631),
                make_result("unfused", 512, status=Status.OUT_OF_MEMORY, phase="run", reason="killed"),
            ]
        )
    )


def test_the_summary_csv_holds_base_units_and_empty_cells(frame: pd.DataFrame) -> None:
    header, first, *_, last = summary_csv(frame).splitlines()
    values = dict(zip(header.split(","), first.split(","), strict=True))
    assert (values["label"], values["time_s"], values["speedup"]) == ("flash", "0.00136957", "2.0631")
    failed = dict(zip(header.split(","), last.split(","), strict=True))
    assert (failed["status"], failed["time_s"], failed["speedup"]) == ("out-of-memory", "", "")


def test_cells_of_a_csv_may_repeat_or_be_missing_in_any_column() -> None:
    frame = pd.DataFrame(
        {
            "same": ["=1+1"] * 3,
            "missing": [None] * 3,
            "begins": pd.Series(["-x", "-1", "a,b"], dtype="str"),
            "gaps": pd.Series([None, "x", "y"], dtype="str"),
            "whole": pd.array([1, None, 1], dtype="Int64"),
            "flag": pd.array([True, None, False], dtype="boolean"),
            "label": pd.Categorical(["p", "q", "p"]),
            "number": [float("nan")] * 3,
        }
    )
    assert full_csv(frame).splitlines()[1:] == [
        "'=1+1,,'-x,,1,True,p,",
        "'=1+1,,-1,x,,,q,",
        '\'=1+1,,"a,b",y,1,False,p,',
    ]
    assert full_csv(frame[["same", "number"]]) == "same,number\n" + "'=1+1,\n" * 3
    assert full_csv(frame[:0][["same", "number"]]) == "same,number\n"
