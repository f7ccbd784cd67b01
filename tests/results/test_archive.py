"""Runs as one file."""

import gzip
import io
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from example_results import example_manifest, example_result, example_round, load

from harness.__main__ import main
from harness.results.archive import unpacked, write_archive
from harness.results.loading import open_run
from harness.results.run_folder import RunFolder
from harness.system.errors import InputError
from harness.system.storage.folder_store import BUILDING


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HARNESS_CACHE_DIR", str(tmp_path / "cache"))
    folder = RunFolder.create(tmp_path / "results", "sweep", example_manifest())
    for number in range(3):
        folder.append_result(example_result(f"{number:012x}"))
    folder.append_round(example_round())
    folder.finish()
    folder.release()
    return folder.path


def test_what_is_unpacked_is_what_was_packed(run, tmp_path):
    file = tmp_path / "run.tar.gz"
    write_archive(run, file)
    opened = open_run(file)
    assert (opened.experiment, opened.run) == ("sweep", run.name)
    assert load(file).equals(load(run))
    assert {path.name for path in opened.path.iterdir()} == {
        path.name for path in run.iterdir() if path.is_file() and not path.name.startswith(".")
    }


def test_equal_runs_give_equal_bytes(run, tmp_path):
    first, second = tmp_path / "a.tar.gz", tmp_path / "b.tar.gz"
    write_archive(run, first)
    for path in run.iterdir():
        path.touch()
    write_archive(run, second)
    assert first.read_bytes() == second.read_bytes()


def test_a_report_of_an_archive_is_that_of_the_run(run, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["archive", str(run)]) == 0
    file = tmp_path / f"sweep-{run.name}.tar.gz"
    assert str(file.name) in capsys.readouterr().out
    assert main(["report", str(run), "--out", "of-run"]) == 0
    assert main(["report", str(file), "--out", "of-archive"]) == 0
    names = sorted(path.name for path in (tmp_path / "of-run").iterdir())
    assert names == sorted(path.name for path in (tmp_path / "of-archive").iterdir())
    for name in names:
        assert (tmp_path / "of-run" / name).read_bytes() == (tmp_path / "of-archive" / name).read_bytes()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["archive", "RUN", "--out", "x.zip"], "expected a name that ends in .tar.gz"),
        (["report", "FILE"], "--out: found none"),
    ],
)
def test_bad_input_is_one_line(run, tmp_path, capsys, words, message):
    file = tmp_path / "run.tar.gz"
    write_archive(run, file)
    paths = {"RUN": str(run), "FILE": str(file)}
    assert main([paths.get(word, word) for word in words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line


def packed(file: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(file, "w:gz") as archive:
        for member, content in members:
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return file


KILLED = """
import os, sys, tarfile
from pathlib import Path
from harness.results.archive import unpacked
def copied(source, target, *options, **named):
    target.write(b"a part")
    target.flush()
    os._exit(9)
tarfile.copyfileobj = copied
unpacked(Path(sys.argv[1]))
"""


def test_what_a_killed_process_has_unpacked_goes_with_the_next(run, tmp_path):
    file = tmp_path / "run.tar.gz"
    write_archive(run, file)
    assert subprocess.run([sys.executable, "-c", KILLED, str(file)], check=False).returncode == 9
    folder = unpacked(file).parents[1]
    assert len(list((tmp_path / "cache" / "archives").rglob("manifest.json"))) == 1
    assert {path.name for path in folder.parent.iterdir()} == {folder.name, BUILDING}


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (["../../b/manifest.json"], "outside"),
        (["a/b/manifest.json"], "it has no results.jsonl"),
        (["a/b/manifest.json", "a/c/manifest.json"], "it holds 2 runs"),
    ],
)
def test_what_is_no_run_is_refused_and_leaves_nothing(run, tmp_path, names, reason):
    file = packed(tmp_path / "other.tar.gz", *((tarfile.TarInfo(name), b"{}") for name in names))
    with pytest.raises(InputError, match=reason):
        unpacked(file)
    assert not list((tmp_path / "cache" / "archives").rglob("*.json*"))


def test_what_has_changed_in_the_cache_is_unpacked_again(run, tmp_path):
    file = tmp_path / "run.tar.gz"
    write_archive(run, file)
    (unpacked(file) / "results.jsonl").unlink()
    assert load(file).equals(load(run))


def test_what_was_damaged_on_its_way_is_refused(run, tmp_path):
    """Stored blocks: a changed byte of a member is nothing that tar or deflate would notice."""
    file = tmp_path / "run.tar.gz"
    write_archive(run, file)
    stored = bytearray(gzip.compress(gzip.decompress(file.read_bytes()), compresslevel=0))
    place = stored.index(b'"time_s":') + len(b'"time_s":')
    stored[place] ^= 1
    damaged = tmp_path / "damaged.tar.gz"
    damaged.write_bytes(stored)
    with pytest.raises(InputError, match="not an archive of a run: CRC check failed"):
        unpacked(damaged)
    cut = tmp_path / "cut.tar.gz"
    cut.write_bytes(file.read_bytes()[:-6])
    with pytest.raises(InputError, match="not an archive of a run"):
        unpacked(cut)
