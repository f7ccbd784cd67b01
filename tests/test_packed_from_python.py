"""What docs/experiments.md shows of packed sequences and pages works, and raises, as it says."""

import itertools
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import harness
from harness.system.errors import HarnessError, InputError, UnsupportedError

PAGE = Path(__file__).parents[1] / "docs" / "experiments.md"
STARTS = (0, 300, 320, 397)
pytestmark = pytest.mark.usefixtures("built_here")

PACKED = {"cu_seqlens_q": STARTS, "cu_seqlens_kv": STARTS}
PAGES = {"page_size": 64}


def section() -> str:
    return PAGE.read_text().split("## Packed sequences and pages from Python\n")[1].split("\n## ")[0]


@pytest.mark.sweep
def test_the_example_computes_each_sequence_by_itself() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", section(), re.DOTALL)
    names: dict[str, Any] = {}
    exec(example, names)
    for number, (start, end) in enumerate(itertools.pairwise(STARTS)):
        q, k, v = (names[name][start:end].swapaxes(0, 1)[None] for name in ("q", "k", "v"))
        alone = harness.attention(*map(np.ascontiguousarray, (q, k, v)))[0].swapaxes(0, 1)
        for found in (names["packed"][start:end], names["paged"][start:end]):
            np.testing.assert_allclose(found, alone, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(names["decoded"][number], alone[-1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"cu_seqlens_kv": None}, InputError, "come together"),
        ({"cu_seqlens_q": (5, 300, 320, 397)}, InputError, "cu_seqlens_q: found"),
        ({"cu_seqlens_q": (0, 320, 300, 397)}, InputError, "never falling"),
        ({"cu_seqlens_q": (0, 300, 320, 396)}, InputError, "q: found shape"),
        ({"kv_lengths": (1, 2, 3)}, InputError, "kv_lengths is for padded batches"),
        ({"k": np.zeros((10, 64, 2, 64), np.float32)}, InputError, "k: found shape"),
        ({"page_table": np.zeros(5, np.int32)}, InputError, "page_table: unknown key"),
        ({"variant": "flash", "params": PAGES}, InputError, "page_size: unknown key"),
        (
            {"params": {"page_size": 0}},
            InputError,
            "page_size: Input should be greater than or equal to 1, found 0",
        ),
        ({"variant": "flash"}, UnsupportedError, "packed sequences"),
        ({"params": {**PAGES, "tile_kv": 128}}, UnsupportedError, "does not divide pages of 64 tokens"),
    ],
)
def test_what_it_says_raises(changed: dict[str, Any], error: type[HarnessError], message: str) -> None:
    q, k = (np.zeros((397, heads, 64), np.float32) for heads in (8, 2))
    given = {"q": q, "k": k, "v": k, "variant": "varlen", **PACKED, **changed}
    with pytest.raises(error, match=message):
        harness.attention(**{name: value for name, value in given.items() if value is not None})
