"""Libraries that are compiled once: what a cache holds is used only if it is what was compiled."""

import ctypes
from pathlib import Path

import pytest

from harness.emulator import native_library
from harness.system.errors import BuildError

pytestmark = pytest.mark.skipif(native_library.compiler() is None, reason=native_library.MISSING)


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HARNESS_CACHE_DIR", str(tmp_path / "cache"))
    source = tmp_path / "seven.c"
    source.write_text("int seven(void) { return 7; }")
    return source


@pytest.mark.parametrize("damage", ["truncated", "flipped"])
def test_a_library_that_has_changed_is_compiled_again(source: Path, damage: str) -> None:
    library = native_library._compiled("seven", [source], [])
    content = library.read_bytes()
    library.write_bytes(content[:100] if damage == "truncated" else content[:-1] + b"\xaa")
    assert native_library._compiled("seven", [source], []) == library
    assert library.read_bytes() == content
    assert ctypes.CDLL(str(library)).seven() == 7


def test_a_compiler_that_takes_too_long_is_ended(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = source.with_name("slow-cc")
    slow.write_text('#!/bin/sh\n[ "$1" = --version ] || sleep 60\n')
    slow.chmod(0o755)
    monkeypatch.setattr(native_library, "compiler", lambda: [str(slow)])
    monkeypatch.setattr(native_library, "TIME_LIMIT_S", 1.0)
    with pytest.raises(BuildError, match="compiling takes longer than 1 s"):
        native_library._compiled("slow", [source], [])
    assert list((source.parent / "cache" / "emulator" / ".building").iterdir()) == []
