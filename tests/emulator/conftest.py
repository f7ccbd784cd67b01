"""The models of each vendor, and IREE's modules for each chip, compiled once a session."""

import functools
from collections.abc import Callable

import pytest
from iree_modules import GpuModule, IreeAttention, compile_attention
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
def attention(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], GpuModule]:
    """IREE's attention op for a chip."""
    return functools.cache(lambda chip: compile_attention(chip, tmp_path_factory.mktemp(chip)))


@pytest.fixture(scope="session")
def unfused(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], GpuModule]:
    """Matmul, softmax, matmul for a chip: three kernels and a buffer between them."""
    return functools.cache(lambda chip: compile_attention(chip, tmp_path_factory.mktemp(chip), unfused=True))


@pytest.fixture(scope="session")
def iree_attention(attention: Callable[[str], GpuModule]) -> Callable[[str], IreeAttention]:
    """IREE's attention kernel for a chip, without IREE's runtime."""
    return lambda chip: IreeAttention(attention(chip))
