from harness.plurals import counted


def test_one_case_is_no_cases() -> None:
    assert [counted(count, "case") for count in (0, 1, 2)] == ["0 cases", "1 case", "2 cases"]
