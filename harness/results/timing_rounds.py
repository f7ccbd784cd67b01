"""Rounds of interleaved timing as a run keeps them, and the tables made of them."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from harness.artifact.device_facts import DeviceFacts
from harness.results.frame import dtype_of
from harness.system.numbers import Count, MeasuredSeconds, Positive, Share
from harness.system.validation import FrozenModel

if TYPE_CHECKING:
    import pandas

DEVICE_NUMBERS = tuple(name for name in DeviceFacts.model_fields if name != "timed_by")
"""What a device tells of a sample, in columns of their own."""

SAMPLE_COLUMNS = {
    "case": "str",
    "group": "str",
    "start": "int64",
    "round": "int64",
    "seconds": "float64",
    "load": "float64",
    **dict.fromkeys(DEVICE_NUMBERS, "float64"),
    "counted": "bool",
}


class Round(FrozenModel):
    """The samples of one round of interleaved timing, in which each candidate had its turn."""

    group: str
    """Id of the set of cases that are timed together."""
    round: Count
    start: Count = 0
    """Which start of the candidates it belongs to; all of a start ran in the same processes."""
    seconds: dict[str, Annotated[list[MeasuredSeconds], Field(min_length=1)]]
    """Case id to seconds per call, one value per sample of this round."""
    beside: list[str] = Field(default=[])
    """Cases whose earlier row stands: they were timed only so that others are compared with them."""
    load: Share
    device: dict[str, DeviceFacts] = Field(default={})
    """What the device tells besides, by case id."""
    throttled: dict[str, str] = Field(default={})
    """Why a case's sample of this round is not counted: the device was slowed down."""
    peak_flops: dict[str, Positive] = Field(default={})
    """A sample of the peak of each unit that had its turn, in FLOP/s."""
    at: str
    """When the round was over, ISO 8601."""


def samples_frame(rounds: Iterable[Round]) -> "pandas.DataFrame":
    """Return one row per timing sample, with the columns of `SAMPLE_COLUMNS`.

    `seconds` are of a call; `counted` says whether the times of the case's row are made of it.
    """
    import pandas

    rounds = list(rounds)
    groups = groups_of_rows(rounds)
    rows = [
        (
            case,
            entry.group,
            entry.start,
            entry.round,
            seconds,
            entry.load,
            *(getattr(entry.device.get(case, DeviceFacts()), name) for name in DEVICE_NUMBERS),
            entry.group == groups.get(case) and case not in entry.beside,
        )
        for entry in rounds
        for case, samples in entry.seconds.items()
        for seconds in samples
    ]
    dtypes = {column: dtype_of(name) for column, name in SAMPLE_COLUMNS.items()}
    return pandas.DataFrame(rows, columns=list(SAMPLE_COLUMNS)).astype(dtypes)


def groups_of_rows(rounds: Iterable[Round]) -> dict[str, str]:
    """Return of each case the group whose rounds its row is made of: the last one that timed it for that.

    A resumed run may hold rounds of older code, too, which are of another group.
    """
    return {case: entry.group for entry in rounds for case in entry.seconds if case not in entry.beside}


def samples_of_rows(rounds: Sequence[Round]) -> dict[str, list[Sequence[float]]]:
    """Return of each case the samples, round by round, that its row is made of."""
    groups = groups_of_rows(rounds)
    samples: dict[str, list[Sequence[float]]] = {}
    for entry in rounds:
        for case, seconds in entry.seconds.items():
            if entry.group == groups.get(case) and case not in entry.beside:
                samples.setdefault(case, []).append(seconds)
    return samples
