"""Code that a build loads and that its content key does not know: its case fails, others do not."""

import importlib
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from forgotten_plugins import forget_plugins

from harness.artifact.cache import ArtifactCache
from harness.building import unknown_code
from harness.building.case_build import build, build_case, find_key
from harness.errors import BuildError, PluginError
from harness.problem.attention_problem import AttentionProblem
from harness.problem.case import Case

HEAD = """
import sys
import importlib
import importlib.util
from pathlib import Path
from harness.artifact.artifact import Artifact
from harness.variants.base import Parameters, Variant

REPOSITORY = Path(__file__).parents[1]

def from_file(name, file):
    found = importlib.util.spec_from_file_location(name, file)
    sys.modules[name] = module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module
"""
VARIANT = """
class Plugin(Variant):
    name = "hiding"
    summary = "what loads code that can or cannot be found by reading it"
    parameters = Parameters

    def supports(self, problem, target):
        return None

    def source(self, case):
        return ""

    def build(self, case, key, folder):
        {build}
        return Artifact(case=case, key=key, executor="native", loader="a_plugin:load")
"""
DESCRIPTION = {
    "hiding-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: hiding\nVersion: 1.0\n",
    "hiding-1.0.dist-info/entry_points.txt": "[harness.variants]\nhiding = a_plugin:Plugin\n",
}
CASE = Case(problem=AttentionProblem(heads=1, seq_q=8, head_dim=8), variant="hiding", target="cpu")
ADD_KERNELS = "sys.path.insert(0, str(REPOSITORY / 'kernels'))"
"""What puts the folder of kernels on the path."""
KERNELS = ("kernels/hidden_kernel.py", "elsewhere/part.py", "a_plugin/inner.py", "hidden_beside.py")
OURS = ("a_plugin", "hidden_kernel", "hidden_beside", "part", "inner", "hidden_generated")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the path, which declares the variant `hiding`; temporary files and caches lie beside it."""
    folder, temporary = tmp_path / "repository", tmp_path / "temporary"
    temporary.mkdir()
    write(folder, DESCRIPTION | dict.fromkeys(KERNELS, "FACTOR = 1\n"))
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.setenv("HARNESS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    monkeypatch.setattr(unknown_code, "_waiting", {})
    monkeypatch.setattr(unknown_code, "_unknown", {})
    unknown_code._is_of_a_tool.cache_clear()
    unknown_code._providers.cache_clear()
    forget_plugins()
    yield folder
    unknown_code._is_of_a_tool.cache_clear()
    unknown_code._providers.cache_clear()
    forget_plugins()
    for name in [name for name in sys.modules if name.partition(".")[0] in OURS]:
        del sys.modules[name]


def write(folder: Path, sources: dict[str, str]) -> None:
    for file, text in sources.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text)


def write_plugin(repository: Path, build: str = "pass", head: str = "") -> None:
    write(repository, {"a_plugin/__init__.py": HEAD + head + VARIANT.format(build=build)})
    importlib.invalidate_caches()


def build_here(repository: Path) -> None:
    """Build the case twice in this process, the second time as a worker that is given a key."""
    caches = [ArtifactCache(repository.parent / name) for name in ("cache", "another")]
    build_case(CASE, caches[0])
    build_case(CASE, caches[1], find_key(CASE).key)


HIDDEN = {
    "a path that build adds": (f"{ADD_KERNELS}; import hidden_kernel", "", "hidden_kernel"),
    "a name that is computed": ("importlib.import_module('hidden_' + 'beside')", "", "hidden_beside"),
    "a computed name at first": ("", "importlib.import_module('hidden_' + 'beside')", "hidden_beside"),
    "a file that is loaded": ("from_file('hidden_kernel', REPOSITORY / 'elsewhere/part.py')", "", "part.py"),
    "a zip file": (
        "import zipfile; archive = zipfile.ZipFile(REPOSITORY / 'parts.zip', 'w'); "
        "archive.writestr('hidden_kernel.py', ''); archive.close(); "
        "sys.path.insert(0, archive.filename); import hidden_kernel",
        "",
        r"hidden_kernel \(.*parts\.zip\)",
    ),
    "a package of folders elsewhere": (
        "from a_plugin import part",
        "__path__ = [*__path__, str(REPOSITORY / 'elsewhere')]",
        r"a_plugin\.part \(.*elsewhere/part\.py\)",
    ),
}


@pytest.mark.parametrize("how", HIDDEN)
def test_a_build_that_loads_code_that_its_key_does_not_know_fails(how: str, repository: Path) -> None:
    code, head, module = HIDDEN[how]
    write_plugin(repository, code or "pass", head)
    before = list(sys.path)
    for _ in range(2):  # the second time the folder is on the path already, and the module loaded
        with pytest.raises(PluginError, match=rf"variant 'hiding' on cpu: it loads .*{module}.*unnoticed"):
            build_case(CASE, ArtifactCache(repository.parent / "cache"))
    sys.path[:] = before
    assert not list((repository.parent / "cache").glob("[0-9a-f]*"))


def test_a_worker_s_build_fails_too(repository: Path) -> None:
    write_plugin(repository, f"{ADD_KERNELS}; import hidden_kernel")
    with pytest.raises(BuildError, match=r"loads the module hidden_kernel \(.*kernels/hidden_kernel\.py\)"):
        build(CASE)


@pytest.mark.parametrize("head", ["", "import multiprocessing"])
def test_a_worker_s_own_code_is_known_by_whatever_name(head: str, repository: Path) -> None:
    """`multiprocessing`, and so PyTorch and others, calls what a process runs `__mp_main__` as well."""
    write_plugin(repository, "import multiprocessing", head)
    built, _ = build(CASE)
    assert built.case == CASE


KNOWN = {
    "a path that its module adds": ("import hidden_kernel", ADD_KERNELS),
    "a name": ("import hidden_beside", ""),
    "a file of the package": ("from_file('inner', REPOSITORY / 'a_plugin/inner.py')", ""),
    "the package's own folder": ("sys.path.insert(0, str(REPOSITORY / 'a_plugin')); import inner", ""),
    "a computed name in the package": ("importlib.import_module('a_plugin.' + 'inner')", ""),
    "a temporary file": (
        "import tempfile; file = Path(tempfile.gettempdir(), 'hidden_generated.py'); file.write_text(''); "
        "from_file('hidden_generated', file)",
        "",
    ),
    "a file of the artifact": (
        "file = folder / 'hidden_generated.py'; file.write_text(''); from_file('hidden_generated', file)",
        "",
    ),
    "a file that is gone": (
        "file = REPOSITORY / 'hidden_generated.py'; file.write_text(''); "
        "from_file('hidden_generated', file); file.unlink()",
        "",
    ),
    "a module that has no file": (
        "sys.modules['hidden_generated'] = type(sys)('h')",
        "",
    ),
    "a module of Python's": ("importlib.import_module('nturl2' + 'path')", ""),
}


@pytest.mark.parametrize("how", KNOWN)
def test_code_that_the_key_knows_or_that_is_nobody_s_own_does_not_fail(how: str, repository: Path) -> None:
    write_plugin(repository, *KNOWN[how])
    build_here(repository)


def load_kernel(repository: Path, place: str) -> None:
    write(repository, {place: ""})
    write_plugin(repository, f"from_file('hidden_generated', REPOSITORY / {place!r})")


@pytest.mark.parametrize("place", ["lib/site-packages/hidden_generated.py", "a_plugin/build/generated.py"])
def test_what_is_installed_or_hashed_does_not_fail(place: str, repository: Path) -> None:
    load_kernel(repository, place)
    build_here(repository)


def test_a_library_does_not_fail(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_plugin(repository, "importlib.import_module('hidden_' + 'generated')")
    write(repository, {f"hidden_generated/{name}.py": "" for name in ("__init__", "one", "two", "three")})
    monkeypatch.setattr("harness.code_packages.MOST_FILES", 3)
    build_here(repository)


@pytest.mark.parametrize(("declares", "is_known"), [("another", True), ("hiding", False)])
def test_a_package_of_another_distribution_has_a_version(
    declares: str, is_known: bool, repository: Path
) -> None:
    described = {"another-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: another\nVersion: 1.0\n"}
    declared = {"hiding": ["a_plugin"], declares: ["hidden_beside"]}
    if declares == "hiding":
        declared = {"hiding": ["a_plugin", "hidden_beside"]}
    names = {f"{name}-1.0.dist-info/top_level.txt": "\n".join(tops) for name, tops in declared.items()}
    write(repository, described | names)
    write_plugin(repository, "importlib.import_module('hidden_' + 'beside')")
    if is_known:
        build_here(repository)
        return
    with pytest.raises(PluginError, match="hidden_beside"):
        build_here(repository)


def test_what_an_installed_package_imports_from_elsewhere_is_a_library(repository: Path) -> None:
    installed = repository / "site-packages"
    write(installed, {"inner.py": "import hidden_beside"})
    write_plugin(repository, "import inner", f"sys.path.insert(0, {str(installed)!r})")
    build_here(repository)


def test_what_is_loaded_for_one_plugin_fails_no_case_of_another(repository: Path) -> None:
    write_plugin(repository, f"{ADD_KERNELS}; import hidden_kernel")
    write(repository, {"part.py": HEAD + VARIANT.format(build="pass")})
    entries = DESCRIPTION["hiding-1.0.dist-info/entry_points.txt"] + "open = part:Plugin\n"
    write(repository, {"hiding-1.0.dist-info/entry_points.txt": entries})
    forget_plugins()
    cache = ArtifactCache(repository.parent / "cache")
    with pytest.raises(PluginError):
        build_case(CASE, cache)
    build_case(CASE.model_copy(update={"variant": "open"}), cache)
    with pytest.raises(PluginError):
        build_case(CASE, cache)


GENERATING = """
(folder / "hidden_generated.py").write_text("")
        sys.path.insert(0, str(folder))
        sys.modules.pop("hidden_generated", None)
        import hidden_generated
        sys.path.remove(str(folder))
        sys.path.insert(0, str(REPOSITORY / "a_plugin"))
        import inner
"""


def test_what_one_build_generates_and_adds_to_the_path_is_in_no_key_of_another(repository: Path) -> None:
    """Folders of builds are moved to the cache, and workers that load have never built."""
    write_plugin(repository, GENERATING.strip())
    others = [
        CASE.model_copy(update={"problem": CASE.problem.model_copy(update={"heads": heads})})
        for heads in (2, 3)
    ]
    alone = [find_key(case) for case in (CASE, *others)]
    cache = ArtifactCache(repository.parent / "cache")
    found = []
    for case in (CASE, *others):
        found.append(find_key(case))
        build_case(case, cache)
    assert found == alone
    assert all({*key.code} == {"harness", "a_plugin"} for key in found)
