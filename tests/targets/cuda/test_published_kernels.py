"""The model beside published throughput: the table of docs/model.md, and the errors that it states."""

import gzip
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.bounds.loop_model import LoopModel
from harness.targets.cuda.kernel_bounds import kernel_bounds
from harness.targets.gpu.launch import GpuKernel
from harness.targets.lowering.buffers import Buffer

RECORDED = Path(__file__).parent / "recorded"
PAGE = Path(__file__).parents[3] / "docs" / "model.md"
REGISTERS = 255
THREADS = 128
QUERIES = 128
KEYS = {64: 128, 128: 64}
"""Of a tile, by head_dim: FlashAttention-2's choice."""


@dataclass(frozen=True)
class Row:
    """A row of the page's table."""

    chip: str
    head_dim: int
    published: float
    modelled: float
    error: str


def rows() -> list[Row]:
    pattern = re.compile(
        r"^\| FlashAttention-2 \| (sm_\d+) \| (\d+) \| (0\.\d+) \| (0\.\d+) \| ([+−]\d+ %) \|", re.MULTILINE
    )
    found = pattern.findall(PAGE.read_text(encoding="utf-8"))
    return [
        Row(chip, int(width), float(there), float(here), error) for chip, width, there, here, error in found
    ]


def modelled(chip: str, head_dim: int) -> LoopModel:
    text = gzip.decompress((RECORDED / f"flash_attention_2_{chip}_d{head_dim}.sass.gz").read_bytes()).decode()
    buffers = tuple(
        Buffer(name=name, shape=(1, head_dim), dtype="f16", is_workspace=False) for name in ("query", "value")
    )
    shared_bytes = 2 * head_dim * (QUERIES + 2 * KEYS[head_dim])
    kernel = GpuKernel(
        name="flash_attention_2", buffers=buffers, grid=4096, threads=THREADS, shared_bytes=shared_bytes
    )
    return kernel_bounds(text, [kernel], {kernel.name: REGISTERS}, chip).model


def test_every_recorded_kernel_is_in_the_table() -> None:
    names = {f"flash_attention_2_{row.chip}_d{row.head_dim}.sass.gz" for row in rows()}
    assert names == {file.name for file in RECORDED.glob("*.gz")}


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row.chip}-d{row.head_dim}")
def test_the_page_states_the_error_of_the_model(row: Row) -> None:
    found = modelled(row.chip, row.head_dim)
    assert found.scores == QUERIES * KEYS[row.head_dim]
    assert found.fraction_of_peak == pytest.approx(row.modelled, abs=0.0006)
    error = found.fraction_of_peak / row.published - 1
    assert row.error == f"{'+' if error >= 0 else '−'}{abs(error):.0%}".replace("%", " %")


def test_no_error_is_larger_than_the_page_promises() -> None:
    (promised,) = re.findall(r"at most (\d+) % too high", PAGE.read_text(encoding="utf-8"))
    errors = [modelled(row.chip, row.head_dim).fraction_of_peak / row.published - 1 for row in rows()]
    assert -0.05 < min(errors) <= max(errors) <= int(promised) / 100
