"""The models of each vendor and IREE's attention for each chip, compiled once a session."""

import functools
from collections.abc import Callable

import pytest
from iree_attention import IreeAttention, compile_attention
from model_calls import ModelLibrary, compile_models


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], ModelLibrary]:
    """The models of a vendor."""
    return functools.cache(lambda vendor: compile_models(vendor, tmp_path_factory.mktemp(vendor)))


@pytest.fixture(scope="session")
def nvidia(models: Callable[[str], ModelLibrary]) -> ModelLibrary:
    return models("nvidia")


@pytest.fixture(scope="session")
def amd(models: Callable[[str], ModelLibrary]) -> ModelLibrary:
    return models("amd")


@pytest.fixture(scope="session")
def intel(models: Callable[[str], ModelLibrary]) -> ModelLibrary:
    return models("intel")


@pytest.fixture(scope="session")
def iree_attention(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], IreeAttention]:
    """IREE's attention kernel for a chip."""
    return functools.cache(lambda chip: compile_attention(chip, tmp_path_factory.mktemp(chip)))
