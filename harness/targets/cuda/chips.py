"""Which device runs code for which chip, by their compute capabilities."""

import re


def runs_on(chip: str, device_chip: str) -> bool:
    """Return whether PTX for a chip runs on a device: a later one will do, unless the chip has a suffix."""
    wanted, suffix = capability(chip)
    have = capability(device_chip)[0]
    return have == wanted if suffix else have >= wanted


def machine_code_runs_on(chip: str, device_chip: str) -> bool:
    """Return whether machine code runs on a device: on chips of one generation, from its own on."""
    wanted, suffix = capability(chip)
    have = capability(device_chip)[0]
    return have == wanted if suffix else have >= wanted and have // 10 == wanted // 10


def capability(chip: str) -> tuple[int, str]:
    """Return (90, `a`) of `sm_90a`."""
    found = re.fullmatch(r"sm_(\d+)([af]?)", chip)
    return (int(found[1]), found[2]) if found else (0, "")
