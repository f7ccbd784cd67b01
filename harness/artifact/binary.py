"""Whether two builds made the same code: a digest of what runs."""

import json
from pathlib import Path

from harness.artifact.artifact import ARTIFACT_FILE, Artifact
from harness.artifact.launching_code import launching_digest
from harness.digest import OWN_PACKAGE, digest
from harness.storage.digests import DIGESTS_FILE
from harness.storage.reading import read_text


def binary_digest(artifact: Artifact, folder: Path) -> str | None:
    """Return a digest of an artifact's machine code, of how it is launched, and of the code that does so.

    The texts of stages are left out: another way to the same code gives the same digest.  A plugin's loader
    may run them nevertheless, or choose by parameters what it runs: there the content key counts as well, of
    whatever the case depends on.  None where the code is not in the folder, as that of a library, or the
    folder does not say what it holds.
    """
    try:
        noted = json.loads(read_text(folder / DIGESTS_FILE))
    except (OSError, ValueError):
        return None
    if not isinstance(noted, dict):
        return None
    others = {ARTIFACT_FILE, *artifact.stage_files.values()}
    code = {name: value for name, value in noted.items() if name not in others}
    launching = launching_digest(artifact.loader)
    if not code or launching is None:
        return None
    is_own = artifact.loader.partition(".")[0] == OWN_PACKAGE
    of_a_plugin = None if is_own else [artifact.key, artifact.chosen]
    launched = [artifact.launch, artifact.ranks, artifact.page_size, artifact.is_padded, launching]
    return digest([code, *launched, of_a_plugin])
