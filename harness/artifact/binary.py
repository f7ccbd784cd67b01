"""Whether two builds made the same code: a digest of what runs."""

import json
from pathlib import Path

from harness.artifact.artifact import ARTIFACT_FILE, Artifact
from harness.artifact.launching_code import launching_digest
from harness.digest import digest
from harness.storage.digests import DIGESTS_FILE
from harness.storage.reading import read_text


def binary_digest(artifact: Artifact, folder: Path) -> str | None:
    """Return a digest of an artifact's machine code, of how it is launched, and of the code that does so.

    The texts of stages that are there to be read alone are left out: another way to the same code gives the
    same digest.  None where the code
    is not in the folder, as that of a library, or the folder does not say what it holds.
    """
    try:
        noted = json.loads(read_text(folder / DIGESTS_FILE))
    except (OSError, ValueError):
        return None
    if not isinstance(noted, dict):
        return None
    others = {ARTIFACT_FILE, *(() if artifact.are_stages_run else artifact.stage_files.values())}
    code = {name: value for name, value in noted.items() if name not in others}
    launching = launching_digest(artifact.loader)
    if not code or launching is None:
        return None
    return digest([code, artifact.launch, artifact.ranks, artifact.page_size, artifact.is_padded, launching])
