"""The models of each vendor and IREE's attention for each chip, compiled once a session."""

import functools
from collections.abc import Callable
from pathlib import Path

import pytest
from iree_attention import IreeAttention, compile_attention
from model_calls import ModelLibrary, compile_models


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="session")
def nvidia(model_folder: Path) -> ModelLibrary:
    return compile_models("nvidia", model_folder)


@pytest.fixture(scope="session")
def amd(model_folder: Path) -> ModelLibrary:
    return compile_models("amd", model_folder)


@pytest.fixture(scope="session")
def intel(model_folder: Path) -> ModelLibrary:
    return compile_models("intel", model_folder)


@pytest.fixture(scope="session")
def iree_attention(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], IreeAttention]:
    """IREE's attention kernel for a chip."""
    return functools.cache(lambda chip: compile_attention(chip, tmp_path_factory.mktemp(chip)))
