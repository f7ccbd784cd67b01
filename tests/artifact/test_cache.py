"""The artifact cache: complete artifacts or none, whoever writes, fails or dies."""

import multiprocessing
import os
import signal

import pytest

from harness.artifact.artifact import ARTIFACT_FILE, Artifact
from harness.artifact.cache import ArtifactCache
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case
from harness.system.errors import BuildError, HarnessError, StorageError
from harness.system.storage import folder_store
from harness.system.storage.cache_folder import CACHE_DIR_VARIABLE

CASE = Case(problem=AttentionProblem(heads=1, seq_q=8, head_dim=8), variant="flash", target="cpu")
SPAWN = multiprocessing.get_context("spawn")


def _artifact(key="k", **changes):
    return Artifact(case=CASE, key=key, executor="native", loader="package.module:function", **changes)


def _builder(content="code", key="k"):
    """A build that writes a file and returns the artifact's description."""

    def build(folder):
        (folder / "code.bin").write_text(content)
        return _artifact(key)

    return build


def _unexpected_build(folder):
    raise AssertionError("was built again")


@pytest.fixture
def cache(tmp_path):
    return ArtifactCache(tmp_path / "cache")


def _private_files(cache):
    return list((cache.root / ".building").iterdir())


def test_what_was_stored_is_found_with_its_description(cache):
    folder = cache.store("k", _builder("code"))
    assert cache.find("k") == folder
    assert (folder / "code.bin").read_text() == "code"
    assert Artifact.model_validate_json((folder / ARTIFACT_FILE).read_text()) == _artifact()
    assert _private_files(cache) == []


def test_the_root_is_the_argument_then_the_variable_then_the_users_cache(tmp_path, monkeypatch):
    monkeypatch.delenv(CACHE_DIR_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert ArtifactCache().root == tmp_path / "xdg" / "attention-harness"
    monkeypatch.setenv(CACHE_DIR_VARIABLE, str(tmp_path / "variable"))
    assert ArtifactCache().root == tmp_path / "variable"
    assert ArtifactCache(tmp_path / "argument").root == tmp_path / "argument"


def test_a_build_that_raises_leaves_nothing(cache):
    def build(folder):
        _builder()(folder)
        (folder / ARTIFACT_FILE).write_text(_artifact().model_dump_json())
        raise BuildError("no such pass")

    with pytest.raises(BuildError, match="no such pass"):
        cache.store("k", build)
    assert cache.find("k") is None
    assert _private_files(cache) == []


@pytest.mark.parametrize("corrupt", ["{", "{}"])
def test_a_corrupt_artifact_is_absent_and_built_again(cache, corrupt):
    folder = cache.store("k", _builder("old"))
    (folder / ARTIFACT_FILE).write_text(corrupt)
    assert cache.find("k") is None
    assert cache.store("k", _builder("new")) == folder
    assert (cache.find("k") / "code.bin").read_text() == "new"
    assert _private_files(cache) == []


def test_the_second_of_two_writers_gets_the_firsts_artifact(cache):
    def build_while_another_is_faster(folder):
        cache.store("k", _builder("first"))
        return _builder("second")(folder)

    folder = cache.store("k", build_while_another_is_faster)
    assert (folder / "code.bin").read_text() == "first"
    assert _private_files(cache) == []


def _store_often(root, start, finished):
    cache = ArtifactCache(root)
    start.wait()
    for number in range(20):
        key = f"key{number}"
        folder = cache.store(key, _builder("same", key))
        if cache.find(key) != folder or (folder / "code.bin").read_text() != "same":
            return
    finished.put(True)


def test_processes_that_store_the_same_keys_at_once_all_get_valid_artifacts(cache):
    count = 3
    start, finished = SPAWN.Barrier(count), SPAWN.Queue()
    writers = [SPAWN.Process(target=_store_often, args=(cache.root, start, finished)) for _ in range(count)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0] * count
    assert [finished.get(timeout=10) for _ in writers] == [True] * count
    assert all(cache.find(f"key{number}") for number in range(20))
    assert _private_files(cache) == []


def _killed_while_building(root):
    def build(folder):
        (folder / ARTIFACT_FILE).write_text(_artifact().model_dump_json())
        os.kill(os.getpid(), signal.SIGKILL)

    ArtifactCache(root).store("k", build)


def test_a_killed_build_leaves_nothing_to_find_and_the_next_store_cleans_up(cache):
    builder = SPAWN.Process(target=_killed_while_building, args=(cache.root,))
    builder.start()
    builder.join()
    assert builder.exitcode == -signal.SIGKILL
    assert cache.find("k") is None
    assert len(_private_files(cache)) == 2
    cache.store("other", _builder(key="other"))
    assert _private_files(cache) == []


def test_cleaning_up_spares_a_build_that_is_under_way(cache):
    def build(folder):
        (folder / "half").touch()
        ArtifactCache(cache.root).store("other", _builder(key="other"))
        assert (folder / "half").exists()
        return _artifact()

    assert (cache.store("k", build) / "half").exists()


def test_a_cache_that_cannot_be_written_is_refused_in_one_line(tmp_path):
    (tmp_path / "file").touch()
    told = "cache: cannot write: File exists; set HARNESS_CACHE_DIR to a folder"
    with pytest.raises(StorageError, match=told):
        ArtifactCache(tmp_path / "file" / "cache").store("k", _unexpected_build)


@pytest.mark.parametrize("damage", ["flipped", "missing", "added", "no digests", "pipe"])
def test_an_artifact_whose_files_have_changed_is_absent_and_built_again(cache, damage):
    folder = cache.store("k", _builder("the code"))
    code = folder / "code.bin"
    if damage == "flipped":
        code.write_text("thf code")
    elif damage == "added":
        (folder / "more.bin").touch()
    elif damage == "no digests":
        (folder / "digests.json").unlink()
    else:
        code.unlink()
    if damage == "pipe":
        os.mkfifo(code)
    assert cache.find("k") is None
    assert (cache.store("k", _builder("the code")) / "code.bin").read_text() == "the code"
    assert cache.find("k") == folder
    assert _private_files(cache) == []


def test_code_that_changes_after_it_was_found_is_not_loaded(cache):
    folder = cache.store("k", _builder())
    (folder / "code.bin").write_text("changed")
    with pytest.raises(HarnessError, match=r"code\.bin is missing or has changed: build it again"):
        _artifact().load(folder)


@pytest.mark.parametrize("key", ["", "..", "a/b"])
def test_a_key_never_leads_out_of_the_cache(cache, key):
    with pytest.raises(ValueError, match="usable as a folder name"):
        cache.store(key, _unexpected_build)


def test_an_artifact_of_another_key_is_built_again(cache):
    one, other = (cache.store(key, _builder(key, key)) for key in ("one", "other"))
    one.rename(cache.root / "kept")
    other.rename(one)
    assert cache.find("one") is None
    assert (cache.store("one", _builder("anew", "one")) / "code.bin").read_text() == "anew"
    assert cache.find("one") == one


def test_a_build_of_another_key_is_refused(cache):
    with pytest.raises(HarnessError, match=r"the build of k left no readable artifact\.json of this key"):
        cache.store("k", _builder(key="other"))


def test_a_cache_below_an_unknown_home_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_CACHE_DIR", "~nosuchuser/x")
    with pytest.raises(StorageError, match="no home folder is known; set HARNESS_CACHE_DIR"):
        ArtifactCache()


def test_a_private_folder_whose_removal_failed_goes_with_the_next_store(cache, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(folder_store.shutil, "rmtree", lambda folder, ignore_errors: None)
        with pytest.raises(HarnessError):
            cache.store("k", lambda folder: None)
    assert len(_private_files(cache)) == 1
    cache.store("k", _builder())
    assert _private_files(cache) == []


def test_folders_are_the_users_own_whatever_the_umask(cache):
    before = os.umask(0o777)
    try:
        folder = cache.store("k", _builder())
    finally:
        os.umask(before)
    for path in (cache.root, cache.root / ".building", folder):
        assert path.stat().st_mode & 0o777 == 0o700
