"""Counts and durations with their words: one case, several cases, about three hours."""

TWO_HOURS_S = 7200


def counted(count: int, word: str) -> str:
    """Return a count with its word, `1 case` or `2 cases`."""
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def about(seconds: float) -> str:
    """Return a duration in words, in a unit in which people think of it."""
    if seconds < 90:
        return f"about {seconds:.0f} s"
    if seconds <= TWO_HOURS_S:
        return f"about {seconds / 60:.0f} min"
    hours = seconds / 3600
    return f"about {hours:.0f} hours" if hours < 48 else f"about {hours / 24:.0f} days"
