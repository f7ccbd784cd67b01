"""What `harness ir --bounds` prints: the main loop of machine code, and what bounds it in a model."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from harness.codegen.bounds.instruction import CONTROL
from harness.codegen.bounds.listing import ListedInstruction, LoopListing
from harness.codegen.bounds.loop_model import LoopModel
from harness.system.errors import InputError

if TYPE_CHECKING:
    from harness.api import BuiltArtifact

TEXT_WIDTH = 58
HEADER = ("instruction", "class", "pipe", "cycles", "stall", "waits for", "raises")
NOT_MEASURED = "A model, nothing here is measured: see docs/model.md."


def bounds_text(built: "BuiltArtifact", *, other_options: bool = False) -> str:
    """Return the loop of a build, each instruction with what it keeps busy, and the sums."""
    if other_options:
        raise InputError("--bounds: expected without --stage, --diff, --counts and --out")
    from harness import plugins

    artifact = built.artifact
    name = artifact.case.target
    target = plugins.target(name)
    with plugins.asked("target", plugins.name_of(name), "what bounds its code"):
        listing = target.bounds(artifact, built.folder)
        lines = [artifact.case.describe(), NOT_MEASURED, "", *_loop(listing), "", *_summary(listing)]
        return "\n".join(lines)


def _loop(listing: LoopListing) -> Iterator[str]:
    model = listing.model
    yield f"main loop of {model.kernel} on {listing.chip}: {len(listing.instructions)} instructions of a warp"
    yield _row("", *HEADER)
    for number, line in enumerate(listing.instructions, 1):
        yield _row(str(number), line.text, line.kind, *_busy(listing, line), *_control(line))


def _row(number: str, text: str, *cells: str) -> str:
    shown = text if len(text) <= TEXT_WIDTH else text[: TEXT_WIDTH - 1] + "…"
    kind, pipe, cycles, stall, waits, raises = cells
    line = (
        f"{number:>5}  {shown:<{TEXT_WIDTH}}  {kind:<8}  {pipe:<8}{cycles:>6}{stall:>7}  {waits:<11}{raises}"
    )
    return line.rstrip()


def _busy(listing: LoopListing, line: ListedInstruction) -> tuple[str, str]:
    pipe, cycles = listing.busy(line.costs)
    return pipe, "" if pipe == CONTROL else f"{cycles:.3g}"


def _control(line: ListedInstruction) -> tuple[str, str, str]:
    costs = line.costs
    raised = {"result": costs.result_flag, "operands": costs.operand_flag}
    named = (f"{flag} ({what})" for what, flag in raised.items() if flag is not None)
    return str(costs.stall), " ".join(map(str, costs.waits)), " ".join(named)


def _summary(listing: LoopListing) -> Iterator[str]:
    model = listing.model
    yield "one iteration of one workgroup: cycles that each part is busy, share of the modelled cycles"
    for pipe, cycles in sorted(model.pipe_cycles.items(), key=lambda entry: -entry[1]):
        yield f"  {pipe:<10}{cycles:>9.0f}{cycles / model.cycles:>8.1%}"
    yield f"  {'modelled':<10}{model.cycles:>9.0f}"
    yield ""
    yield from _per_score(model)
    if model.shared_bytes_per_mma is not None:
        yield f"shared memory read for one matrix instruction: {model.shared_bytes_per_mma:.0f} bytes"
    residency = model.residency
    fit = ", ".join(f"{resource} {count}" for resource, count in residency.limits.items())
    yield (
        f"occupancy: {residency.workgroups} workgroups of {model.warps} warps on a multiprocessor, "
        f"with {residency.registers} registers a thread and {residency.shared_bytes} bytes of shared memory; "
        f"there would be room for, by {fit}"
    )
    yield f"modelled fraction of the dense peak: {model.fraction_of_peak:.3f}, bound by {model.bound}"
    if model.grid_fraction_of_peak is not None:
        yield f"of the whole call, if its workgroups do equal work: {model.grid_fraction_of_peak:.3f}"


def _per_score(model: LoopModel) -> Iterator[str]:
    every = model.per_score(sum(model.instructions.values()))
    if model.scores is None or every is None:
        return
    counts = sorted(model.instructions.items(), key=lambda entry: -entry[1])
    classes = ", ".join(f"{name} {model.per_score(count):.2f}" for name, count in counts)
    yield f"scores of an iteration: {model.scores:.0f}; instructions per score: {every:.1f} ({classes})"
