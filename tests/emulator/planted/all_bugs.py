"""All planted bugs, and the table of them in the documentation.

cd tests/emulator && python -m planted.all_bugs     writes the table
"""

from itertools import groupby
from pathlib import Path

from generated_attention import GENERATED

from planted import (
    generated,
    generated_amd,
    generated_forms,
    generated_intel,
    hand_written_amd,
    hand_written_intel,
    hand_written_nvidia,
    iree_amd,
    iree_nvidia,
)
from planted.bugs import PlantedBug

BUGS: tuple[PlantedBug, ...] = (
    *iree_nvidia.BUGS,
    *iree_amd.BUGS,
    *generated.BUGS,
    *generated_forms.BUGS,
    *generated_amd.BUGS,
    *generated_intel.BUGS,
    *hand_written_nvidia.BUGS,
    *hand_written_amd.BUGS,
    *hand_written_intel.BUGS,
)

DOCUMENT = Path(__file__).parents[3] / "docs" / "emulator-planted-bugs.md"

INTRODUCTION = """\
# Bugs that the emulator notices

Bugs planted into correct kernels, one at a time, and what notices each of them: all of it and nothing else,
or a test fails (`tests/emulator/test_planted_bugs.py`). `values` are results outside of the oracle's
tolerance, `clamped` another number of accesses that hardware clamps. Everything else is a kind of finding,
which names the instruction, the line, the lane and the workgroup; `order` are results that depend on the
order of lanes and warps. What only `values` notice, only inputs show that make a difference.

The kernels are IREE's attention (f16, one head, 128 queries and keys, head dimension 64), as the LLVM back
ends get it, those that the harness generates for sm_80 (256 queries and keys, causal, also in tiles of 128
queries and with scores computed an iteration ahead; twice 10 queries, once with the keys in two parts; once
f32), for AMD's chips (128 to 256 queries, causal; 100 queries and 150 keys; head dimension 128) and for
Intel's (128 queries, causal, also with prefetches; 10 queries; 100 queries and 150 keys), and those of
`tests/emulator/kernels`. Written by `python -m planted.all_bugs` in `tests/emulator`.
"""


def document() -> str:
    """Return the table, in Markdown."""
    parts = [INTRODUCTION]
    for kernel, bugs in groupby(BUGS, key=lambda bug: bug.kernel):
        parts.append(f"\n## {_title(kernel)}\n\n| Bug | Noticed by |\n| --- | --- |\n")
        parts.extend(f"| {bug.what} | {', '.join(sorted(bug.caught_by))} |\n" for bug in bugs)
    counted = sum("values" not in bug.caught_by for bug in BUGS)
    parts.append(f"\n{len(BUGS)} bugs; {counted} of them leave the results as they were.\n")
    return "".join(parts)


def _title(kernel: str) -> str:
    if kernel in GENERATED:
        variant, _, which = kernel.partition(" ")
        chip = GENERATED[kernel].chip
        return f"`{variant}` {which}{' ' if which else ''}as generated, {chip}"
    return (
        f"`{kernel}.ll`" if "_" in kernel and not kernel.startswith("sm_") else f"IREE's attention, {kernel}"
    )


if __name__ == "__main__":
    DOCUMENT.write_text(document(), encoding="utf-8")
