"""General folders spell no vendor: what differs between GPUs is in a vendor's own files."""

import re
from pathlib import Path

import harness

PACKAGE = Path(harness.__file__).parent
GENERAL = ("codegen/layouts", "targets/gpu", "targets/lowering")
OWN = re.compile(r"nvidia|amd|intel")
SPELLINGS = re.compile(
    r"nvvm|nvgpu|ldmatrix|cp[._]async|mma[._]sync|wgmma|ptx|cubin|rocdl|amdgpu|mfma|wmma|hsaco|xegpu|xevm|dpas",
    re.IGNORECASE,
)
EXAMPLE = "the operand A of `mma.sync.m16n8k16`, 16×16:"
"""One vendor's instruction, which the documentation of layouts takes as its example."""


def test_no_general_file_spells_a_vendor() -> None:
    files = [file for folder in GENERAL for file in sorted((PACKAGE / folder).rglob("*.py"))]
    general = [file for file in files if not OWN.search(str(file.relative_to(PACKAGE)))]
    assert len(general) > 30
    assert [
        f"{file.relative_to(PACKAGE)}:{number}: {line.strip()}"
        for file in general
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1)
        if SPELLINGS.search(line) and not line.endswith(EXAMPLE)
    ] == []
