"""Experiments that are too large, and files that cannot be read: each is one readable line."""

from pathlib import Path

import pytest

from harness.experiment import condition
from harness.experiment.experiment import MOST_CASES, load_experiment
from harness.experiment.shipped import find_experiment
from harness.system.errors import InputError

pytestmark = pytest.mark.usefixtures("examples")

HEAD = 'name = "trial"\nquestion = "?"\nvariants = ["flash", "naive"]\n'


def listed(count: int) -> str:
    return str(list(range(1, 1 + count)))


def written(folder: Path, tables: str = "", seq: str = "64", head_dim: str = "64") -> Path:
    path = folder / "trial.toml"
    path.write_text(f"{HEAD}[problem]\nheads = 4\nhead_dim = {head_dim}\nseq = {seq}\n{tables}", "utf-8-sig")
    return path


@pytest.mark.parametrize(
    ("tables", "sizes", "message"),
    [
        ("", ("3000000000", "8"), "problem.seq.0: Input should be less than or equal to 2147483647"),
        ("", (listed(1000), listed(1000)), f"1,000,000 problems .* are 2,000,000 cases, .* {MOST_CASES:,}"),
        (f"[variant.flash]\ntile_q = {listed(1000)}\ntile_kv = {listed(1000)}", ("8", "8"), "1,000,000 comb"),
        (
            "[limits]\nbuild_timeout_s = 1e300",
            ("8", "8"),
            "limits.build_timeout_s: Input should be less than",
        ),
        (f"kv_lengths = [{[65] * 3000}]\nbatch = 3000", ("64", "8"), "kv_lengths must lie in"),
    ],
)
def test_what_is_too_large_is_one_line(
    tables: str, sizes: tuple[str, str], message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        load_experiment(written(tmp_path, tables, *sizes))
    assert len(caught.value.lines) == 1
    assert len(str(caught.value)) < 600


def test_a_long_list_is_planned_in_linear_time(tmp_path: Path) -> None:
    condition._parsed.cache_clear()
    path = written(tmp_path, f'[variant.flash]\nwhere = "seq in {listed(2000)}"', listed(2000))
    assert len(load_experiment(path).cases()) == 4000
    assert condition._parsed.cache_info().misses == 1


def test_a_misspelt_file_is_suggested(tmp_path: Path) -> None:
    written(tmp_path)
    with pytest.raises(InputError, match=r"trail\.toml: no such file \(did you mean .*/trial\.toml\?\)"):
        load_experiment(tmp_path / "trail.toml")


def test_a_misspelt_name_is_suggested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("experiments").mkdir()
    Path("experiments/tiles.toml").write_text("")
    with pytest.raises(InputError, match=r"or a path \(did you mean tiles\?\)"):
        find_experiment("tils")
