"""Experiments that are too large, and paths that lead nowhere: each is one readable line."""

import os
from pathlib import Path

import pytest
from example_plugins import use_example_plugins

from harness.__main__ import main
from harness.errors import InputError
from harness.experiment import condition
from harness.experiment.condition import holds, parse_condition
from harness.experiment.experiment import MOST_CASES, load_experiment
from harness.experiment.shipped import find_experiment
from harness.results.output_folder import ensure_writable_file, ensure_writable_folder

PLAIN = {"heads": "4", "head_dim": "64", "seq": "64"}

TOO_LONG = "x" * 5000


@pytest.fixture(autouse=True)
def plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    use_example_plugins(monkeypatch)


def listed(count: int, first: int = 1) -> str:
    return f"[{', '.join(map(str, range(first, first + count)))}]"


def experiment(tables: str = "", top: str = "", **problem: str) -> str:
    fields = "\n".join(f"{key} = {value}" for key, value in {**PLAIN, **problem}.items())
    names = 'name = "trial"\nquestion = "?"\nvariants = ["flash", "naive"]'
    return f"{names}\n{top}\n[problem]\n{fields}\n{tables}"


def mistakes(folder: Path, text: str) -> tuple[str, ...]:
    path = folder / "trial.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_experiment(path)
    assert all(len(line) <= 1500 + len(str(path)) for line in caught.value.lines)
    return tuple(line.removeprefix(f"{path}: ") for line in caught.value.lines)


HOSTILE = {
    "a size beyond 32 bits": (
        experiment(seq="3000000000"),
        "problem.seq: found 3000000000, expected at most 2147483647",
    ),
    "a product of a million problems": (
        experiment(seq=listed(1000), head_dim=listed(1000)),
        "problem: 1,000,000 problems with their variants, targets and settings are "
        f"2,000,000 cases, expected at most {MOST_CASES:,}",
    ),
    "many tables of many problems": (
        experiment(
            "".join(f"[[problems]]\nheads = 1\nhead_dim = 8\nseq = {listed(9000)}\n" for _ in range(9))
        ),
        f"problem: 81,001 problems with their variants, targets and settings are 162,002 cases, "
        f"expected at most {MOST_CASES:,}",
    ),
    "a million settings": (
        experiment(f"[variant.flash]\ntile_q = {listed(1000)}\ntile_kv = {listed(1000)}"),
        f"variant.flash: the lists multiply to 1,000,000 combinations, expected at most {MOST_CASES:,}",
    ),
    "more time than there is": (
        experiment("[limits]\nbuild_timeout_s = 1e300"),
        "limits.build_timeout_s: found 1e+300, expected at most 1000000.0",
    ),
    "more memory than there is": (
        experiment("[limits]\nmemory_gb = 1e300"),
        "limits.memory_gb: found 1e+300, expected at most 1048576.0",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_too_large_is_one_line(name: str, tmp_path: Path) -> None:
    text, message = HOSTILE[name]
    assert mistakes(tmp_path, text) == (message,)


def test_of_thousands_of_wrong_values_the_first_are_told(tmp_path: Path) -> None:
    lines = mistakes(tmp_path, experiment(f"[target.cpu]\nwidth = {listed(2000, first=-3000)}"))
    assert lines[0] == "target.cpu.width: found -3000, expected at least 128"
    assert lines[-1] == "and 1960 more mistakes"


def test_a_list_of_thousands_is_planned_in_no_more_than_linear_time(tmp_path: Path) -> None:
    (tmp_path / "trial.toml").write_text(
        experiment(f'[variant.flash]\nwhere = "seq in {listed(2000)}"', seq=listed(2000))
    )
    condition._parsed.cache_clear()
    assert len(load_experiment(tmp_path / "trial.toml").cases()) == 4000
    assert condition._parsed.cache_info().misses == 1


def test_a_condition_of_500_terms_holds() -> None:
    tree = parse_condition(" and ".join(["seq > 1"] * 500), ("seq",))
    assert holds(tree, {"seq": 2})
    assert not holds(tree, {"seq": 1})


def test_a_byte_order_mark_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "trial.toml").write_text("\ufeff" + experiment(), encoding="utf-8")
    assert len(load_experiment(tmp_path / "trial.toml").cases()) == 2


class TestPaths:
    def test_a_pipe_is_not_read(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe.toml")
        with pytest.raises(
            InputError, match=r"pipe.toml: is no regular file; expected an experiment in TOML"
        ):
            load_experiment(tmp_path / "pipe.toml")

    @pytest.mark.parametrize(
        "arguments",
        [
            ["run", TOO_LONG],
            ["run", f"{TOO_LONG}.toml"],
            ["run", "--bundle", TOO_LONG],
            ["build", "trial.toml", "--bundle", TOO_LONG],
            ["check", "trial.toml", "--out", TOO_LONG],
            ["check", "trial.toml", "--junit", f"{TOO_LONG}.xml"],
            ["report", TOO_LONG],
        ],
    )
    def test_a_path_that_is_too_long_is_one_line(
        self,
        arguments: list[str],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        monkeypatch.chdir(tmp_path)
        Path("trial.toml").write_text(experiment())
        assert main(arguments) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert "File name too long" in line

    def test_a_misspelt_file_is_suggested(self, tmp_path: Path) -> None:
        (tmp_path / "tiles.toml").write_text("")
        with pytest.raises(InputError, match=r"tiles\.tml: no such file \(did you mean .*/tiles\.toml\?\)"):
            load_experiment(tmp_path / "tiles.tml")

    def test_a_misspelt_name_is_suggested(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        Path("experiments").mkdir()
        Path("experiments/tiles.toml").write_text("")
        with pytest.raises(InputError, match=r"or a path \(did you mean tiles\?\)"):
            find_experiment("tils")

    def test_a_list_of_thousands_of_lengths_is_cut(self, tmp_path: Path) -> None:
        lengths = ", ".join(["65"] * 3000)
        (tmp_path / "trial.toml").write_text(experiment(batch="3000", kv_lengths=f"[[{lengths}]]"))
        with pytest.raises(InputError, match="kv_lengths must lie in") as caught:
            load_experiment(tmp_path / "trial.toml")
        assert len(str(caught.value)) < 500

    def test_a_byte_0_is_one_line(self) -> None:
        for argument in ("ex\0periment", "ex\0periment.toml"):
            assert main(["list", "cases", argument]) == 2
        with pytest.raises(InputError, match="embedded null byte; expected a folder that can be written"):
            ensure_writable_folder(Path("a\0b"))
        with pytest.raises(InputError, match="expected an experiment in TOML"):
            load_experiment("a\0b.toml")

    def test_what_is_not_utf_8_is_one_line(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["run", os.fsdecode(b"ba\xffd.toml")]) == 2
        assert capsys.readouterr().err == (
            "harness: found 'ba\\udcffd.toml', expected UTF-8: manifests could not hold it\n"
        )

    def test_a_folder_is_no_file_to_write(self, tmp_path: Path) -> None:
        (tmp_path / "folder").mkdir()
        with pytest.raises(InputError, match=r"--junit .*folder: is a folder; expected a file that can be"):
            ensure_writable_file(tmp_path / "folder", "--junit")
        assert ensure_writable_file(tmp_path / "new" / "file", "--junit") == tmp_path / "new" / "file"

    def test_junit_is_looked_at_before_anything_is_built(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (tmp_path / "trial.toml").write_text(experiment())
        assert main(["check", str(tmp_path / "trial.toml"), "--junit", str(tmp_path)]) == 2
        assert "is a folder; expected a file" in capsys.readouterr().err
