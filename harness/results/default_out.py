"""The folder of all results where nobody names another one."""

from pathlib import Path

DEFAULT_OUT = Path("results")


def out_words(out: Path) -> tuple[str, ...]:
    """Return the words of a command line that name a folder of results; none for the usual one, here."""
    return () if out.absolute() == DEFAULT_OUT.absolute() else ("--out", str(out))
