"""Fixtures that several test modules share."""

import functools
import importlib
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
from caches import empty_cache
from forgotten_plugins import forget_plugins
from sweeps import part

from harness.artifact.artifact import Artifact
from harness.artifact.cache import ArtifactCache
from harness.bench.building import case_build
from harness.problem.case import Case

os.environ["CUDA_VISIBLE_DEVICES"] = os.environ["HIP_VISIBLE_DEVICES"] = ""
os.environ["OCL_ICD_VENDORS"] = "/nonexistent"
"""The tests expect no device: what they build is executed by the emulator, also where there is one."""

case_build.PATIENCE_S = 3600.0
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")
"""No example fails since it takes long, and no build tells of it: a busy machine is no fault of the code."""

EXAMPLE_PLUGIN = Path(__file__).parent / "example_plugin"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--require-extras", action="store_true", help="a missing extra fails a test instead of skipping it"
    )
    parser.addoption("--part", metavar="K/N", type=part, help="run the K-th of N parts of the tests")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests of other parts than the one that `--part` asks for."""
    if (asked := config.getoption("--part")) is None:
        return
    others = [item for item in items if not asked.holds(item.nodeid)]
    items[:] = [item for item in items if asked.holds(item.nodeid)]
    config.hook.pytest_deselected(items=others)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose extras are not installed, or fail it where they are required."""
    for marker in item.iter_markers("extra"):
        for extra in marker.args:
            missing = missing_packages(extra)
            install = f"install attention-harness[{extra}]"
            if missing and item.config.getoption("--require-extras"):
                pytest.fail(f"{install}: {', '.join(missing)} missing", pytrace=False)
            if missing:
                pytest.skip(install)


@functools.cache
def missing_packages(extra: str) -> tuple[str, ...]:
    """Return the packages of an extra that are not installed."""
    declared = importlib.metadata.requires("attention-harness") or []
    condition = re.compile(rf"""extra == ["']{extra}["']""")
    packages = [re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in declared if condition.search(line)]
    assert packages, f"{extra}: pyproject.toml declares no such extra"
    installed = {found.name.lower() for found in importlib.metadata.distributions()}
    return tuple(package for package in packages if package.lower() not in installed)


@pytest.fixture(scope="session")
def example_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which the example distribution is installed, the way a user would install it."""
    site = tmp_path_factory.mktemp("site")
    source = tmp_path_factory.mktemp("source") / "example_plugin"
    shutil.copytree(EXAMPLE_PLUGIN, source)
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
    install += ["--no-build-isolation", "--target", str(site), str(source)]
    subprocess.run(install, check=True, capture_output=True, text=True)
    return site


@pytest.fixture(scope="module")
def example_plugin(example_site: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The example distribution, importable here and in workers, with an artifact cache of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(example_site))
        path = os.pathsep.join(filter(None, [str(example_site), os.environ.get("PYTHONPATH")]))
        patch.setenv("PYTHONPATH", path)
        patch.setenv("HARNESS_CACHE_DIR", str(empty_cache(tmp_path_factory.mktemp("cache"))))
        forget_plugins()
        yield example_site
    forget_plugins()


@pytest.fixture
def built_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `harness.build` and `harness.attention` build is built in this process: no worker starts."""

    def build(case: Case, **limits: float) -> tuple[Artifact, Path]:
        built = case_build.build_case(case, ArtifactCache())
        return built.artifact, built.folder

    monkeypatch.setattr(case_build, "build", build)
