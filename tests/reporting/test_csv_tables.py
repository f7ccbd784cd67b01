import pandas as pd

from harness.reporting.csv_tables import full_csv


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
