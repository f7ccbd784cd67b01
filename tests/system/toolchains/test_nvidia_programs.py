import shutil

import pytest

from harness.system.toolchains import nvidia


@pytest.mark.extra("cuda")
@pytest.mark.parametrize("name", ["ptxas", "nvdisasm"])
def test_the_extra_brings_a_program_that_the_search_path_lacks(name, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert nvidia.program.__wrapped__(name).endswith(f"/bin/{name}")


def test_a_program_that_is_nowhere_has_no_version():
    assert nvidia.version("no-such-program") is None
