"""Modules that several tests use, compiled once a session."""

import functools
from collections.abc import Callable

import pytest
from iree_modules import ATTENTION, GpuModule, compile_attention


@pytest.fixture(scope="session")
def attention(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], GpuModule]:
    """IREE's attention op for a chip."""

    @functools.cache
    def compiled(chip: str) -> GpuModule:
        return compile_attention(ATTENTION, chip, tmp_path_factory.mktemp(chip))

    return compiled


@pytest.fixture(scope="session")
def unfused(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], GpuModule]:
    """Matmul, softmax, matmul for a chip: three kernels and a buffer between them."""

    @functools.cache
    def compiled(chip: str) -> GpuModule:
        return compile_attention(ATTENTION, chip, tmp_path_factory.mktemp(chip), unfused=True)

    return compiled
