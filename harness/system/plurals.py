"""Counts with their words: one case, several cases."""


def counted(count: int, word: str) -> str:
    """Return a count with its word, `1 case` or `2 cases`."""
    return f"{count} {word}" if count == 1 else f"{count} {word}s"
