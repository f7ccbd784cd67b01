"""What Nsight Compute prints, here by a program in its place."""

from pathlib import Path

import pytest
from example_cases import example_case

from harness.system.errors import UnsupportedError
from harness.targets.cuda import nsight

HEAD = (
    '"ID","Kernel Name","gpu__time_duration.sum",'
    '"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",'
    '"sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_active","dram__bytes_read.sum",'
    '"smsp__inst_executed.sum"'
)
PRINTED = f"""==PROF== Connected to process 7
==PROF== Profiling "attention": 0%....100% - 4 passes
{HEAD}
"","","ns","%","%","byte","inst"
"0","attention","3,000","60.0","n/a","1,048,576","1000"
"1","combine","1000","20.0","n/a","1024","10"
"""


def test_kernels_of_a_call_are_added_and_shares_weighed_by_time() -> None:
    counted = nsight.counters_of(PRINTED)
    assert counted == {
        "instructions": 1010,
        "memory_read_bytes": 1048576 + 1024,
        "matrix_busy": pytest.approx((60 * 3 + 20) / 4 / 100),
    }


def test_chips_that_name_a_counter_otherwise_are_read_too() -> None:
    older = PRINTED.replace('"60.0","n/a"', '"n/a","60.0"').replace('"20.0","n/a"', '"n/a","20.0"')
    assert nsight.counters_of(older) == nsight.counters_of(PRINTED)


def test_a_counter_that_one_kernel_lacks_is_not_known_of_the_call() -> None:
    lacking = PRINTED.replace('"1024","10"', '"1024","n/a"')
    assert "instructions" not in nsight.counters_of(lacking)


@pytest.fixture
def ncu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program `ncu` that prints what a test writes into a file beside it."""
    program = tmp_path / "ncu"
    program.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/arguments\n. {tmp_path}/answer\n')
    program.chmod(0o755)
    (tmp_path / "printed").write_text(PRINTED)
    (tmp_path / "answer").write_text(f"cat {tmp_path}/printed\n")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path


def test_the_clock_of_the_device_is_left_as_it_is(ncu: Path) -> None:
    assert nsight.why_missing() is None
    assert nsight.counters(example_case(), ncu / "artifact", 30)["instructions"] == 1010
    arguments = (ncu / "arguments").read_text()
    assert "--clock-control none" in arguments
    *_, flag, module, case_file, folder = arguments.split()
    assert (flag, module) == ("-m", "harness.targets.cuda.device.counted_call")
    assert (Path(case_file).name, folder) == ("case.json", str(ncu / "artifact"))


def test_a_refusal_is_told_in_its_words(ncu: Path) -> None:
    (ncu / "answer").write_text("echo '==ERROR== ERR_NVGPUCTRPERM - no permission'; exit 1\n")
    with pytest.raises(UnsupportedError, match=r"^ncu: ERROR== ERR_NVGPUCTRPERM - no permission"):
        nsight.counters(example_case(), ncu, 30)


def test_without_the_program_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "ncu" in (nsight.why_missing() or "")
