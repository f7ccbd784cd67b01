"""What the tests of pages share."""

from dataclasses import dataclass
from pathlib import Path

HOSTILE = """</script><script>globalThis.owned = 1</script><img src=x onerror="globalThis.owned=2">'\""""
"""A text that would do something in a page that takes it for HTML."""


@dataclass(frozen=True)
class Written:
    """A report, and the stages of its first case."""

    html: Path
    stages: dict[str, str]
