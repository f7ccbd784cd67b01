"""The output of every stage of some cases, read from the cache of built code and packed for a page."""

import base64
import gzip
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from harness.artifact.artifact import ARTIFACT_FILE, Artifact
from harness.artifact.cache import ArtifactCache
from harness.reporting.distinct import first_rows, numbered
from harness.reporting.frames import describe_problem, records
from harness.reporting.html.ir_command import ir_command
from harness.reporting.html.results_table import failures_first
from harness.system.errors import StorageError, cut
from harness.system.storage.cache_folder import cache_root

MOST_CASES = 24
"""Cases whose stages a page holds: one of each variant and target first."""
MOST_LOOKED_UP = 200
"""Cases that are looked for in the cache."""
LARGEST_TEXT = 300_000
LARGEST_PACKED = 4_000_000
"""Bytes of all stages of all cases, packed."""
LONGEST_NAME = 300


@dataclass(frozen=True)
class CaseStages:
    """The stages of one case."""

    name: str
    command: str
    stages: tuple[str, ...]
    """All stages, those that were left out included."""
    left_out: dict[str, str]
    """Stages that are not here: why, and the command that shows them."""
    packed: str
    """The texts by stage: JSON, compressed by gzip, in base64."""


@dataclass(frozen=True)
class StoredStages:
    """The stages that a page holds."""

    cases: list[CaseStages]
    built: int
    example: str | None
    """The command for a case whose stages are not here."""


def stored_stages(frame: pd.DataFrame) -> StoredStages:
    """Return the stages of some cases of a prepared frame, as far as the cache still has them."""
    built = _in_turn(frame)
    cases: list[CaseStages] = []
    example, room = None, LARGEST_PACKED
    try:
        cache = ArtifactCache()
    except StorageError:  # where no cache can be, no stage is kept
        return StoredStages(cases, len(built), None)
    for row in records(frame.iloc[built[:MOST_LOOKED_UP]]):
        case_stages = _stages_of(row, cache) if len(cases) < MOST_CASES else None
        if case_stages is None or len(case_stages.packed) > room:
            example = example or ir_command(row)
            continue
        room -= len(case_stages.packed)
        cases.append(case_stages)
    return StoredStages(cases, len(built), example)


def _in_turn(frame: pd.DataFrame) -> np.ndarray:
    """Return the places of the rows that were built, the first of each key."""
    narrow = frame[["key", "variant", "target", "status"]].reset_index(drop=True)
    built = narrow[narrow["key"].notna()]
    built = built.iloc[first_rows(numbered(built, ["key"]))]
    ordered = built.iloc[failures_first(built)]
    turn = ordered.groupby(["variant", "target"], sort=False).cumcount()
    return ordered.index.to_numpy()[turn.to_numpy().argsort(kind="stable")]


def _stages_of(row: dict[str, Any], cache: ArtifactCache) -> CaseStages | None:
    try:
        folder = cache.find(str(row["key"]))
        if folder is None:
            return None
        artifact = Artifact.model_validate_json((folder / ARTIFACT_FILE).read_bytes())
        outputs = dict(_outputs(artifact, folder))
    except (OSError, ValueError):  # a key from elsewhere need not be a name, nor the cache be readable
        return None
    texts = {name: text for name, text in outputs.items() if text is not None and len(text) <= LARGEST_TEXT}
    return CaseStages(
        name=cut(f"{row['label']} · {row['target']} · {describe_problem(row)}", LONGEST_NAME),
        command=ir_command(row),
        stages=tuple(outputs),
        left_out={
            name: _why(text, ir_command(row, name)) for name, text in outputs.items() if name not in texts
        },
        packed=base64.b64encode(gzip.compress(json.dumps(texts).encode(), mtime=0)).decode(),
    )


def _outputs(artifact: Artifact, folder: Path) -> Iterator[tuple[str, str | None]]:
    """Yield the stages with their texts, None where the output is binary, without folders of this machine."""
    caches = dict.fromkeys((str(folder.parent.resolve()), str(cache_root())), "<cache>")
    private = {**caches, os.path.expanduser("~"): "~"}
    for name, file in artifact.stage_files.items():
        try:
            text = (folder / file).read_bytes().decode()
        except UnicodeDecodeError:
            yield name, None
            continue
        for place, instead in private.items():
            text = text.replace(place, instead) if len(place) > 1 else text
        yield name, text


def _why(text: str | None, command: str) -> str:
    if text is None:
        return "The output of this stage is binary."
    return f"This stage has {len(text):,} characters, too many for this page. It is shown by:\n{command}"
